"""What every error of a command has to be."""

from __future__ import annotations


def one_sentence(result):
    """Return the error, after the checks that every error must pass."""
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert "defect" not in result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    return result.stderr
