import pytest

from encoders.kit.native import kernel


def test_reference_is_chosen_for_a_kernel_that_does_not_exist():
    assert kernel.choose("no_such_kernel", len) is len


def test_reference_is_chosen_when_native_is_not_wanted():
    before = kernel.use_native(False)
    try:
        assert kernel.choose("bc1_encode", len) is len
    finally:
        kernel.use_native(before)


def test_switch_tells_what_was_asked_before():
    before = kernel.use_native(False)
    try:
        assert kernel.use_native(before) is False
    finally:
        kernel.use_native(before)


@pytest.mark.skipif(not kernel.has_native("bc1_encode"), reason="the extension is not built")
def test_native_kernel_is_chosen_where_it_is_built():
    assert kernel.choose("bc1_encode", len) is not len
