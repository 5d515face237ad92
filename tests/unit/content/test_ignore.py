"""Compare every answer with `git check-ignore`, the reference."""

from __future__ import annotations

from footplate.content.ignore import IgnoreRules, rules_for


def test_names_that_are_not_utf8_are_matched(tmp_path):
    assert IgnoreRules(b"?", False).ignores("\udcff", False)
    assert not IgnoreRules(b"?", False).ignores("é", False), "git counts bytes"
    assert IgnoreRules(b"a*z", False).ignores("a\nz", False)


def test_amlignore_replaces_gitignore(tmp_path):
    assert not rules_for(str(tmp_path)).ignores("x.log", False)
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert rules_for(str(tmp_path)).ignores("sub/x.log", False)
    assert rules_for(str(tmp_path)).ignores(".git/config", False), "git never looks into its own folder"
    (tmp_path / ".amlignore").write_text("*.tmp\n")
    assert not rules_for(str(tmp_path)).ignores("x.log", False)
    assert rules_for(str(tmp_path)).ignores("x.tmp", False)
    assert not rules_for(str(tmp_path)).ignores(".git/config", False)


def test_only_the_top_level_file_counts(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_text("*\n")
    assert not rules_for(str(tmp_path)).ignores("sub/x", False)
