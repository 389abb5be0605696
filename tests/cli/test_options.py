"""The options of `probe run` are the fields of its settings."""

import inspect
from dataclasses import fields

import pytest

from probe.cli import run as command
from probe.cli.options import attribute_help, settings_from
from probe.experiment.settings import RunSettings
from probe.topics.settings import LdaSettings


@pytest.mark.parametrize("settings", [RunSettings, LdaSettings])
def test_every_field_is_described(settings):
    assert set(attribute_help(settings)) == {one.name for one in fields(settings)}


def test_every_field_that_a_user_may_set_is_an_option():
    shown = {name for layout in (command._RUN, command._LDA) for names in layout.panels.values() for name in names}
    own = {one.name for kind in (RunSettings, LdaSettings) for one in fields(kind)}
    # The seed of all is that of the topics; held-out passages are for `probe dynamics`.
    assert own - shown == {"lda", "random_state", "held_out"}


def test_options_left_out_give_the_defaults():
    given = {name: one.default for name, one in inspect.signature(command.run).parameters.items()}
    lda = LdaSettings(**settings_from(LdaSettings, command._LDA, given))
    assert RunSettings(**settings_from(RunSettings, command._RUN, given), lda=lda) == RunSettings()


def test_what_is_given_arrives():
    given = {name: one.default for name, one in inspect.signature(command.run).parameters.items()}
    given |= {"model": ["a", "b"], "theta": [0.01], "lda_alpha": "auto", "lda_eta": "0.5", "baseline": False}
    lda = LdaSettings(**settings_from(LdaSettings, command._LDA, given))
    chosen = RunSettings(**settings_from(RunSettings, command._RUN, given), lda=lda)
    assert (chosen.model, chosen.theta, chosen.baseline) == (("a", "b"), (0.01,), False)
    assert (lda.alpha, lda.eta) == ("auto", 0.5)
