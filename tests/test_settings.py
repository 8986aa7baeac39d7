"""Settings: every one is checked, by name and value; texts of the command line are understood."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from enco.errors import SettingsError
from enco.settings import Settings

WHOLE = {setting.name for setting in fields(Settings) if setting.type is int}
NUMBER = {setting.name for setting in fields(Settings) if setting.type is float}
AT_LEAST_ZERO = {
    "sparsity",
    "first_fit_steps",
    "fit_steps",
    "orientation_epochs",
    "first_orientation_passes",
    "orientation_passes",
    "freezing_steps",
    "held_out",
    "second_look_epoch",
    "second_look_gamma",
    "refine_rounds",
    "refine_steps",
    "edge_evidence",
    "weight_decay",
    "distant_theta_factor",
}
POSITIVE = (WHOLE | NUMBER) - AT_LEAST_ZERO
SWITCHES = {setting.name for setting in fields(Settings) if setting.type is bool}
CHOICES = {  # the default first
    "preset": ["enco", "paper"],
    "estimator": ["paired", "independent", "reinforce"],
    "engine": ["auto", "fused", "torch"],
    "density": ["gaussian", "dsf", "spline"],
    "candidates": ["auto", "all", "screen"],
    "interventions": ["auto", "perfect", "soft"],
}


def refused(name, value, words):
    with pytest.raises(SettingsError) as caught:
        Settings(**{name: value})
    assert str(caught.value) == f"setting {name} must be {words}, got {value!r}"


def test_the_defaults_are_valid_and_frozen():
    settings = Settings()
    assert {setting.name for setting in fields(settings)} == WHOLE | NUMBER | CHOICES.keys() | SWITCHES | {"device"}
    assert {name: getattr(settings, name) for name in CHOICES} == {name: first for name, (first, *_) in CHOICES.items()}
    assert settings.device == "cpu"
    with pytest.raises(FrozenInstanceError):
        settings.sparsity = 0.1


def test_settings_have_names_only():
    with pytest.raises(TypeError, match="positional"):
        Settings(0.1)
    with pytest.raises(TypeError, match="nonsense"):
        Settings(nonsense=1)


@pytest.mark.parametrize("name", sorted(WHOLE))
@pytest.mark.parametrize("value", [1.5, 2.0, "3", None, True, float("nan")])
def test_whole_numbers(name, value):
    refused(name, value, "a whole number")


@pytest.mark.parametrize("name", sorted(NUMBER))
@pytest.mark.parametrize("value", ["0.1", None, False, 1j, [0.1]])
def test_numbers(name, value):
    refused(name, value, "a number")


@pytest.mark.parametrize("name", sorted(NUMBER))
def test_not_a_number_is_no_number(name):
    refused(name, float("nan"), "a number")


@pytest.mark.parametrize("name", sorted(AT_LEAST_ZERO))
def test_at_least_zero(name):
    refused(name, -1, "at least 0")
    assert getattr(Settings(**{name: 0}), name) == 0


@pytest.mark.parametrize("name", sorted(POSITIVE))
@pytest.mark.parametrize("value", [0, -1])
def test_positive(name, value):
    refused(name, value, "positive")


@pytest.mark.parametrize(("name", "limit"), [("held_out", 0.5), ("settled_margin", 0.5)])
def test_below(name, limit):
    refused(name, limit, f"below {limit}")
    assert getattr(Settings(**{name: limit - 0.01}), name) == limit - 0.01


@pytest.mark.parametrize("name", ["rest_rate", "settled_share"])
def test_at_most_one(name):
    refused(name, 1.01, "at most 1")
    assert getattr(Settings(**{name: 1}), name) == 1


@pytest.mark.parametrize("name", sorted(NUMBER))
@pytest.mark.parametrize("sign", [1, -1])
def test_infinity_is_refused_as_a_setting(name, sign):
    refused(name, sign * float("inf"), "at most 2,147,483,647")


@pytest.mark.parametrize("name", sorted(WHOLE | NUMBER))
def test_numbers_beyond_all_sense(name):
    """They overflowed in kernels, in array shapes, or where they were compared."""
    for text in ("2147483648", "9223372036854775808", "100000000000000000000"):
        with pytest.raises(SettingsError, match=f"^setting {name} must be at most 2,147,483,647, got "):
            Settings.parse(**{name: text})
    for value in (10**400, 10**5000, -(10**400)):
        with pytest.raises(SettingsError, match=f"^setting {name} must be at most 2,147,483,647, got .{{,90}}$"):
            Settings(**{name: value})
    with pytest.raises(SettingsError, match=f"^setting {name} must be .*, got .{{,90}}$"):
        Settings.parse(**{name: "1" + 400 * "0"})
    with pytest.raises(SettingsError, match=f"^setting {name} must be .*, got .{{,90}}$"):
        Settings.parse(**{name: "1" + 5000 * "0"})


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["Paired", "", None, 1, ["auto"]])
def test_choices(name, value):
    refused(name, value, f"one of {', '.join(CHOICES[name])}")


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CHOICES.items() for value in values])
def test_every_choice_can_be_named(name, value):
    assert getattr(Settings(**{name: value}), name) == value
    assert getattr(Settings.parse(**{name: value}), name) == value


@pytest.mark.parametrize("value", ["", None, 1])
def test_texts(value):
    refused("device", value, "text")
    assert Settings(device="cuda:1") == Settings.parse(device="cuda:1")


def test_numbers_of_numpy_and_whole_numbers_for_numbers():
    assert Settings(sparsity=np.float64(0.01)).sparsity == 0.01
    assert Settings(sparsity=1).sparsity == 1


def test_replace_checks_again():
    with pytest.raises(SettingsError, match="setting hidden must be positive, got 0"):
        replace(Settings(), hidden=0)


def test_parse_every_setting():
    default = Settings()
    texts = {setting.name: str(getattr(default, setting.name)) for setting in fields(default)}
    assert Settings.parse(**texts) == default
    assert Settings.parse() == default


def test_parse_keeps_the_types():
    settings = Settings.parse(hidden=" 32", sparsity="1e-2", theta_rate="1", estimator="reinforce")
    assert (settings.hidden, settings.sparsity, settings.theta_rate, settings.estimator) == (32, 0.01, 1.0, "reinforce")
    assert type(settings.hidden) is int
    assert type(settings.theta_rate) is float


def test_parse_names_an_unknown_setting_and_the_choices():
    with pytest.raises(
        SettingsError,
        match=r"there is no setting 'lambda'; choose from averaged, batch, candidates, centred, .*, weight_",
    ):
        Settings.parse(**{"lambda": "0.1"})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("hidden", "many", "a whole number"),
        ("hidden", "1.5", "a whole number"),
        ("hidden", "", "a whole number"),
        ("sparsity", "little", "a number"),
        ("sparsity", "0,1", "a number"),
    ],
)
def test_parse_words_what_is_no_number(name, text, words):
    with pytest.raises(SettingsError) as caught:
        Settings.parse(**{name: text})
    assert str(caught.value) == f"setting {name} must be {words}, got {text!r}"


def test_parse_checks_values():
    with pytest.raises(SettingsError, match="setting sparsity must be at least 0, got -1"):
        Settings.parse(sparsity="-1")
    with pytest.raises(SettingsError, match="setting estimator must be one of"):
        Settings.parse(estimator="best")


@pytest.mark.parametrize("name", sorted(SWITCHES))
@pytest.mark.parametrize("value", [1, 0, "true", None])
def test_a_switch_is_true_or_false(name, value):
    refused(name, value, "true or false")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_parse_a_switch(text, value):
    assert Settings.parse(latent=text).latent is value


def test_parse_words_what_is_no_switch():
    with pytest.raises(SettingsError, match="setting latent must be true or false, got 'yes'"):
        Settings.parse(latent="yes")
