"""Dumps, remarks and timings of a compilation, printed or written."""

from collections.abc import Sequence

from tempoc.cli.options.compile_options import About
from tempoc.cli.options.options import refuse
from tempoc.cli.reports.terminal import echo, show
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.counts import counts, show_counts
from tempoc.driver.report.equations import story
from tempoc.driver.report.equations_text import show_story, story_json
from tempoc.driver.report.stages import STAGES, SUFFIX, stage_text
from tempoc.files.durable import make_folder, replace_text


def write_dumps(compilation: Compilation, about: About) -> None:
    """`--dump-after PASS` prints graphs; `--dump-dir` writes every stage, numbered."""
    if about.dump_after is not None:
        texts = compilation.texts_after(about.dump_after)
        if not texts:
            names = ", ".join(r.step for r in compilation.passes.records) or "none"
            refuse(f"no pass named '{about.dump_after}' ran; passes that ran: {names}")
        for text in texts:
            show(text)
    if about.dump_dir is not None:
        make_folder(about.dump_dir)
        for number, stage in enumerate(STAGES, 1):
            path = about.dump_dir / f"{number:02}_{stage}.{SUFFIX.get(stage, 'txt')}"
            replace_text(path, stage_text(compilation, stage))


def stage_texts(compilation: Compilation, chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Some stages as text."""
    return [(stage, stage_text(compilation, stage)) for stage in chosen]


def echo_stages(texts: Sequence[tuple[str, str]]) -> None:
    """Print them, with headings if there are several."""
    for number, (stage, text) in enumerate(texts):
        if len(texts) > 1:
            show(("\n" if number else "") + f"# {stage}\n")
        show(text, python=stage == "kernels")


def echo_variants(directory: str, *, always: bool, after: bool) -> None:
    """Which programs of a directory compute the same, if there are several or that is `always`.

    `after` other stages it has a heading.
    """
    from tempoc.driver.report.variants import variants_text

    text = variants_text(directory)
    if text or always:
        show(("\n# variants\n" if after else "") + (text or "this one alone\n"))


def echo_about(compilation: Compilation, about: About) -> None:
    """What somebody wants to know about the compilation itself."""
    if about.remarks:
        echo_remarks(compilation, about.error_format)
    if about.stats:
        echo_counts(compilation)
    if about.timing:
        echo_timing(compilation)


def echo_remarks(compilation: Compilation, error_format: str) -> None:
    """What became of each equation, on standard error; as JSON where errors are JSON."""
    chapters = story(compilation)
    path = compilation.loaded.main.source.path
    text = story_json(chapters) if error_format == "json" else show_story(chapters, path)
    echo(text, err=True, nl=False)


def echo_counts(compilation: Compilation) -> None:
    """How much there is after each pass, on standard error."""
    echo(show_counts(counts(compilation)), err=True, nl=False)


def echo_timing(compilation: Compilation) -> None:
    """A line for each stage and pass, in milliseconds, on standard error."""
    for name, seconds in compilation.timings:
        echo(f"{seconds * 1e3:9.1f} ms  {name}", err=True)
