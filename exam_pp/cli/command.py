"""Commands and groups of ``exam-pp``: help in sections, strict options, suggestions."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from inspect import cleandoc
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from exam_pp.cli.command_line import parameter_name, refuse, with_present_names
from exam_pp.cli.guard import WITH_MANIFESTS, CommandFiles, guarded
from exam_pp.cli.keyed_options import KeyedOption, keys_as_options, keys_of
from exam_pp.cli.logs import log_options
from exam_pp.cli.option_sections import ADVANCED, MAX_SHOWN, OPTIONS, meaning_of, section_of
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    from exam_pp.rendering.document import Report

log = logging.getLogger(__name__)


class Kind(NamedTuple):
    """One kind of the work of a command.

    Attributes:
        help: Its purpose, details and examples.
        uses: Names of parameters that it uses, of those that not all kinds use.
        texts: Parameter to its help text in this kind, where it says more than the text for all kinds.
    """

    help: str
    uses: Collection[str] = ()
    texts: Mapping[str, str] = MappingProxyType({})


class Listing(NamedTuple):
    """What a plug-in adds to ``exam-pp list`` and ``show``: their help, a table, and a text by name."""

    listed: Kind
    shown: Kind
    report: Callable[[], Report]
    text: Callable[[str], str]


class Command(click.Command):
    """A command whose options have one meaning.

    Options that cannot be repeated are refused when they are named twice, ``-q`` and ``-v`` are accepted, and
    ``--help`` begins with an example and has sections. Of many options it shows those that are used most;
    ``--help-all`` shows all. Keys of options such as ``-S`` are options of their own
    (:mod:`exam_pp.cli.keyed_options`).

    ``kinds``: If one parameter, ``chosen_by``, decides what the command does, the kinds of its work with
    their help and parameters. The help of a kind shows only what it uses, and other options are refused.
    Parameters that no kind names are for all kinds.
    """

    def __init__(
        self, *args: Any, kinds: Mapping[str, Kind] | None = None, chosen_by: str = "kind", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.kinds = kinds or {}
        self.chosen_by = chosen_by

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters of the command, -q, -v, --help and, if that shows not all of them, --help-all."""
        # A shell completes only what the chosen kind of work uses.
        kinds = [ctx.meta[KIND]] if ctx.resilient_parsing and KIND in ctx.meta else []
        return self._parameters_of(ctx, kinds)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; raises :class:`click.UsageError` for an option that is named twice."""
        words = args if ctx.resilient_parsing else keys_as_options(with_present_names(args), self.params, ctx)
        # The last word may be an option whose value a shell completes, which would end the parsing.
        is_open = ctx.resilient_parsing and words[-1:] and words[-1].startswith("-")
        # A parse of our own: click does not hand on the order of options, which shows repeated ones.
        named: dict[str, Any] = {}
        try:
            parsed, rest, order = self.make_parser(ctx).parse_args(words[: -1 if is_open else None])
            named.update(parsed)
            # click writes the help before it processes the parameter that chooses the kind of work.
            if (kind := str(named.get(self.chosen_by))) in self.kinds:
                ctx.meta[KIND] = kind
            if not ctx.resilient_parsing:
                self._refuse_repeated(ctx, order)
                self._refuse_patterns(ctx, words, rest)
            ctx.allow_extra_args = True  # refused below, with a message that helps
            super().parse_args(ctx, words)
        except click.UsageError as error:
            from exam_pp.cli.mistakes import explained

            raise explained(error, ctx, named) from None
        if ctx.args and not ctx.resilient_parsing:
            from exam_pp.cli.mistakes import too_many

            ctx.fail(too_many(ctx, ctx.args))
        return ctx.args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The options that begin with ``incomplete``; keys such as ``-S samples`` are completed after -S."""
        return [item for item in super().shell_complete(ctx, incomplete) if " " not in item.value]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, with its inputs protected. It may write manifests. With -v, its time is logged."""
        started = monotonic()
        self._refuse_unused(ctx)
        with guarded(ctx) as files:
            try:
                result: object = super().invoke(ctx)
            except (click.exceptions.Exit, SystemExit):  # an exit code for a finding, with complete outputs
                self._write_manifests(files)
                raise
            self._write_manifests(files)
        log.debug("%s took %.1f seconds.", ctx.command_path, monotonic() - started)
        return result

    def _refuse_unused(self, ctx: click.Context) -> None:
        """Refuse options without an effect on the chosen kind of work."""
        kind = ctx.params.get(self.chosen_by)
        if kind in self.kinds:
            unused = {each.name for each in self.params if not self.uses(each, kind)}
            refuse(ctx, unused.__contains__, f"has no effect on `{self._called(ctx, kind)}`")

    def uses(self, parameter: click.Parameter, kind: Any) -> bool:
        """Whether a kind of work uses a parameter; without kinds, the command uses all."""
        special = {name for each in self.kinds.values() for name in each.uses}
        return kind not in self.kinds or parameter.name not in special - set(self.kinds[kind].uses)

    def _called(self, ctx: click.Context, kind: object) -> str:
        """The command with a kind of work, as users type it."""
        chooser = self._chooser
        option = f"{parameter_name(chooser)} " if isinstance(chooser, click.Option) else ""
        return f"{ctx.command_path} {option}{kind}"

    def _parameters_of(self, ctx: click.Context, kinds: Collection[str]) -> list[click.Parameter]:
        """The parameters that each of these kinds uses, with their help in a single kind."""
        *own, help_option = super().get_params(ctx)
        own = [each for each in own if all(self.uses(each, kind) for kind in kinds)]
        if len(kinds) == 1:
            texts = self.kinds[next(iter(kinds))].texts
            own = [_with_text(each, texts.get(each.name or "")) for each in own]
        every = [*own, *log_options(), help_option]
        with_help_all = [_HELP_ALL] if _number_of_options(every) > MAX_SHOWN else []
        return [*own, *_keyed(own), *every[len(own) :], *with_help_all]

    def _write_manifests(self, files: CommandFiles) -> None:
        if files.running.written and files.context.meta.get(WITH_MANIFESTS):
            from exam_pp.cli.manifests import write_manifests

            kind = files.context.params.get(self.chosen_by)
            write_manifests(files, [parameter for parameter in self.params if self.uses(parameter, kind)])

    def _refuse_repeated(self, ctx: click.Context, order: Iterable[click.Parameter]) -> None:
        for parameter, times in Counter(order).items():
            if times > 1 and isinstance(parameter, click.Option) and not parameter.multiple:
                names = "/".join(_long_names([*parameter.opts, *parameter.secondary_opts]))
                raise click.UsageError(f"{names} can be used only once, but it is named {times} times.", ctx)

    def _refuse_patterns(self, ctx: click.Context, args: list[str], rest: list[str]) -> None:
        """Refuse several values after an option that takes one, such as ``--runs runs/*.run`` in a shell."""
        before = args[: args.index(rest[0])] if rest else []
        repeatable = {name for parameter in self.params if parameter.multiple for name in parameter.opts}
        if len(before) > 1 and before[-2] in repeatable:
            raise click.UsageError(
                f"{before[-2]} takes one value, but several follow it: {listed([before[-1], *rest])}. Repeat "
                f"{before[-2]} before each of them, or name their folder if the option takes folders.",
                ctx,
            )

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The arguments in the line of usage, with the chosen kind of work in place of all kinds."""
        pieces = super().collect_usage_pieces(ctx)
        if not self.kinds:
            return pieces
        choices, chosen = self._chooser.make_metavar(ctx), ctx.meta.get(KIND) or self.chosen_by.upper()
        return [chosen if piece == choices else piece for piece in pieces]

    @property
    def _chooser(self) -> click.Parameter:
        return next(each for each in self.params if each.name == self.chosen_by)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the purpose, the examples, and then the details."""
        # click takes the text from the command, so the command has the other text during the call.
        described, kind = self.help, ctx.meta.get(KIND)
        self.help = _examples_first((self.kinds[kind].help if kind else described) or "")
        if self._is_short(ctx):
            # The purpose, the examples in two parts, and the first paragraph of the details.
            self.help = "\n\n".join(self.help.split("\n\n")[:4])
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = described

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the kinds of work, and the options, in sections if there are many.

        Without a kind, these are the options of all kinds; ``--help-all`` shows those of each, too.
        """
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in OPTIONS}
        own = {name for parameter in self.params for name in parameter.opts}
        kind, with_all = ctx.meta.get(KIND), ctx.meta.get(WITH_ALL_OPTIONS)
        if kind is None and self.kinds:
            self._write_kinds(ctx, formatter)
        kinds = [kind] if kind else [] if with_all else list(self.kinds)
        parameters = self._parameters_of(ctx, kinds)
        is_short = self._is_short(ctx)
        if not is_short:
            parameters = [parameter for parameter in parameters if not isinstance(parameter, KeyedOption)]
        else:
            parameters = _most_used(parameters)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                name = _long_names(parameter.opts)[-1]
                shown = record[0].replace(f"{name} ", f"{name}=", 1) if " " in name else record[0]
                line = (shown, _short(record[1], name) if is_short else record[1])
                sections[section_of(name, own)].append(line)
        records = [record for section in sections.values() for record in section]
        if len(records) <= MAX_WITHOUT_SECTIONS:
            sections = {"Options": records}
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def _is_short(self, ctx: click.Context) -> bool:
        """Whether the help is one of two, of which ``--help-all`` shows the other."""
        kind = ctx.meta.get(KIND)
        kinds = list(self.kinds) if kind is None else [kind]
        return not ctx.meta.get(WITH_ALL_OPTIONS) and _HELP_ALL in self._parameters_of(ctx, kinds)

    def _write_kinds(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        chooser = self._chooser
        words = self._called(ctx, self.chosen_by.upper())
        title = parameter_name(chooser) if isinstance(chooser, click.Option) else self.chosen_by.capitalize()
        with formatter.section(title):
            formatter.write_dl([(name, _purpose(each.help)) for name, each in self.kinds.items()])
            formatter.write_paragraph()
            formatter.write_text(f"`{words} --help` describes one, with its options.")


def _short(text: str, option: str) -> str:
    """The first sentence of the help of an option, or its meaning in all commands, with its default."""
    own, gap, default = text.partition("  [")
    sentence = re.split(r"[.;] ", own, maxsplit=1)[0].rstrip(".")
    is_long = len(sentence) > 80 and " " not in option  # keys have no meaning of their own
    return f"{meaning_of(option) if is_long else sentence}.{gap}{default}"


def _with_text(parameter: click.Parameter, text: str | None) -> click.Parameter:
    """The parameter with another help text, unless it is None."""
    if text is None or not isinstance(parameter, click.Option):
        return parameter
    described = copy(parameter)
    described.help = text
    return described


def _purpose(text: str) -> str:
    """The first paragraph of a help text in one line."""
    return " ".join(cleandoc(text).partition("\n\n")[0].split())


def _number_of_options(parameters: Iterable[click.Parameter]) -> int:
    # Not isinstance: a KeyedOption stands for keys that count on their own.
    return sum(type(parameter) is click.Option for parameter in parameters)


def _keyed(parameters: Sequence[click.Parameter]) -> Iterator[KeyedOption]:
    """The lines of options with keys, which have no plain values."""
    plain = {name for parameter in parameters for name in parameter.opts}
    for option, keys in keys_of(parameters).items():
        if option not in plain:
            yield KeyedOption(option, keys, meaning_of(option))


def _show_all(ctx: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[WITH_ALL_OPTIONS] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _most_used(parameters: Sequence[click.Parameter]) -> list[click.Parameter]:
    """The parameters that ``--help`` shows of many. Of an option with one key, it shows the key."""
    short = [each for each in parameters if isinstance(each, KeyedOption) and each.only_key]
    shown = [each.only_key for each in short]
    return [each for each in parameters if each in shown or not (_is_advanced(each) or each in short)]


def _is_advanced(parameter: click.Parameter) -> bool:
    is_key = any(" " in name for name in parameter.opts)
    return not parameter.required and (is_key or not ADVANCED.isdisjoint(parameter.opts))


KIND = f"{__name__}.kind"
"""Key of the context: the kind of work that the arguments name."""
WITH_ALL_OPTIONS = f"{__name__}.with_all_options"
"""Key of the context: whether the help shows all options."""
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options, with details.",
)
MAX_WITHOUT_SECTIONS = 9
"""Maximum number of options that ``--help`` lists without sections; -q, -v and --help count."""


class LazyGroup(click.Group):
    """A group that imports a command when it is used, and suggests a name for a mistyped command.

    ``members``: Name to (module, one-line help). ``other_names``: Another name of a member to its name.
    Plug-ins add members to the group that they know by its name.
    """

    def __init__(
        self,
        *args: Any,
        members: Mapping[str, tuple[str, str]],
        other_names: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.members = members
        self.other_names = other_names or {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters of the group, -q, -v and --help."""
        *own, help_option = super().get_params(ctx)
        return [*own, *log_options(), help_option]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of ``members``."""
        return [*self.members, *self.added]

    @cached_property
    def added(self) -> dict[str, tuple[str, str]]:
        """The members of plug-ins: name to (``module:object``, one-line help)."""
        from exam_pp.plugins import commands_of

        return commands_of(str(self.name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; fails with the right name for an unknown command."""
        known = args[0] in {**self.members, **self.other_names} or args[0] in self.added
        if not (known or ctx.resilient_parsing):
            from exam_pp.cli.mistakes import unknown_command

            ctx.fail(unknown_command(ctx, self, args[0]))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its ``command``; None for an unknown name."""
        name = self.other_names.get(cmd_name, cmd_name)
        if name in self.members:
            module, attribute = self.members[name][0], "command"
        elif name in self.added:
            module, _, attribute = self.added[name][0].partition(":")
        else:
            return None
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in ``--help`` without importing any command."""
        with formatter.section("Commands"):
            every = {**self.members, **self.added}
            formatter.write_dl([(name, purpose) for name, (_, purpose) in every.items()])


def group_of_files(
    name: str,
    purpose: str,
    room: str,
    commands: Mapping[str, str],
    other_names: Mapping[str, str] | None = None,
) -> LazyGroup:
    """A group of the commands in the files ``exam_pp/cli/ROOM/COMMAND.py``; each file defines ``command``.

    ``commands``: Name to one-line help, which is the first line of the command's own.
    """
    members = {
        command: (f"exam_pp.cli.{room}.{command.replace('-', '_')}", line)
        for command, line in commands.items()
    }
    return LazyGroup(name, help=purpose, members=members, other_names=other_names)


def _long_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("--")] or list(names)


def _examples_first(text: str) -> str:
    """The help text with its examples, which end it, after the first paragraph."""
    text = cleandoc(text)
    match = re.search(r"\n\nExamples?:\n", text)
    if match is None:
        return text
    purpose, gap, details = text[: match.start()].partition("\n\n")
    return f"{purpose}{text[match.start() :].rstrip()}{gap}{details}"
