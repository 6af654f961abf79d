"""The look of figures: colours that can be told apart, and settings that do not leak."""

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgba

from neurosim.plotting import PALETTE, new_figure, ordered_colours, paper_style


def test_palette_is_distinct_for_every_reader():
    colours = np.array([to_rgba(colour)[:3] for colour in PALETTE])
    assert len(set(PALETTE)) == len(PALETTE)
    # Viénot, Brettel and Mollon (1999): RGB, linear, as those who lack the long- or the
    # medium-wave cone see it.
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    protan = np.array([[0.1124, 0.8876, 0], [0.1124, 0.8876, 0], [0.0040, -0.0040, 1]])
    deutan = np.array([[0.2928, 0.7072, 0], [0.2928, 0.7072, 0], [-0.0223, 0.0223, 1]])
    for seen in (linear, linear @ protan.T, linear @ deutan.T):
        display = np.clip(seen, 0, 1) ** (1 / 2.2)
        distance = np.linalg.norm(display[:, None] - display[None], axis=-1)
        assert distance[~np.eye(len(PALETTE), dtype=bool)].min() > 0.1


def test_ordered_colours_are_distinct_and_grow_lighter():
    colours = ordered_colours(12)
    assert colours.shape == (12, 4)
    luminance = colours[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0).all()
    assert luminance[-1] < 0.8
    assert ordered_colours(1).shape == (1, 4)


def test_paper_style_ends_with_its_block():
    before = mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]
    with paper_style():
        assert mpl.rcParams["font.size"] == 8
        _, ax = new_figure(2, 2)
        assert not ax.spines["top"].get_visible()
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(PALETTE)
    assert (mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]) == before


def test_new_figure_is_known_to_no_window_manager():
    from matplotlib import pyplot

    figure, axes = new_figure(4, 3, 2, 3, sharex=True)
    assert tuple(figure.get_size_inches()) == (4, 3)
    assert axes.shape == (2, 3)
    assert pyplot.get_fignums() == []
    figure.canvas.draw()
