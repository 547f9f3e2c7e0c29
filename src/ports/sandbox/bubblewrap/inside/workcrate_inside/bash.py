"""A Bash session: how the router talks to an interactive bash, which an interrupt brings back to its next line.

Commands go to its stdin as lines; it answers on another descriptor with records that end with NUL. The code of a cell and
its input are files without a name, so that no code can end the line that runs it, and nothing of ours is in its output.
"""

import re

from .branches import MOST_HEADER, ForgedMessage, fill_file

BASH_OPTIONS = ["--norc", "--noprofile", "--noediting", "-i"]
INPUT, CODE, ANSWERS, ERRORS = 61, 62, 63, 64

# Without a terminal, bash complains before it reads its first line; only then it gets its stderr.
FIRST_LINE = (
    "PS1= PS2= PS0=; set +o history +H +m; unset HISTFILE MAILCHECK; export -n PWD SHLVL OLDPWD; unset OLDPWD;"
    " exec 2>&%d %d>&-; \\builtin printf 'ready\\0' >&%d\n" % (ERRORS, ERRORS, ANSWERS)
)
# A line of its own: where the code has made it read-only, the error discards the line.
EPOCH_LINE = '[[ ${SOURCE_DATE_EPOCH-} != "%s" ]] || \\builtin export SOURCE_DATE_EPOCH=%s 2>/dev/null\n'
CELL_LINE = '\\builtin eval "$(</dev/fd/%d)" <&%d %d<&- %d<&- %d>&-\n' % (CODE, INPUT, INPUT, CODE, ANSWERS)
# An interrupt discards the rest of the line, so the answer is a line of its own.
ANSWER_LINE = (
    "\\builtin printf 'done\\n%%s\\n%%s\\0' \"${__workcrate_status-$?}\" \"${PWD-}\" >&%d; PS1= PS2=\n" % ANSWERS
)

LEADING_SET = re.compile(r"((?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*)set[ \t]+([^\n;&|<>`$()#'\"]*)(?=[\n;]|\Z|#)")
# As errexit does, but it ends the cell and not the shell, and not the cells after it.
END_CELL = "trap '((BASH_SUBSHELL)) || { __workcrate_status=$?; trap - ERR; kill -INT $$; }' ERR"
AFTER_ERREXIT = "trap - ERR; set +E; unset __workcrate_status\n"


def get_bash_descriptors(connection, code):
    """What bash finds by which number. Its stdin is for our lines, so that of its cells has another number."""
    return {INPUT: 0, CODE: code, ERRORS: 2, 0: connection, ANSWERS: connection, 2: None}


class BashCodec:
    def __init__(self, code):
        self.code = code
        self.epoch = ""

    def pack(self, header, payload):
        if "close" in header:
            return b"exit 0\n"
        if "begin" in header:
            return FIRST_LINE.encode()
        code = replace_errexit(payload)
        fill_file(self.code, code)
        after = "" if code is payload else AFTER_ERREXIT
        return (self.set_epoch(header.get("epoch")) + CELL_LINE + ANSWER_LINE + after).encode()

    def set_epoch(self, epoch):
        """Each cell has that of its own start, unless the code has chosen another."""
        if epoch is None or epoch == self.epoch:
            return ""
        before, self.epoch = self.epoch, epoch
        return EPOCH_LINE % (before, epoch)

    def take(self, read):
        end = read.find(b"\0")
        if end < 0:
            if len(read) > MOST_HEADER:
                raise ForgedMessage
            return None
        record = bytes(read[:end]).decode("utf-8", "replace").split("\n", 2)
        del read[: end + 1]
        if record == ["ready"]:
            return {"type": "ready"}, b""
        if len(record) == 3 and record[0] == "done" and record[1].isdigit():
            code = int(record[1][:9])
            return {"type": "done", "status": "error" if code else "ok", "code": code, "folder": record[2][:4096]}, b""
        raise ForgedMessage


def replace_errexit(code):
    """`set -e` at the start of a cell ends the cell that fails, and not the session."""
    text = code.decode("utf-8", "surrogateescape")
    match = LEADING_SET.match(text)
    if match is None:
        return code
    words, kept, has_errexit = match[2].split(), [], False
    for word in words:
        if word == "errexit" and kept and re.fullmatch(r"-[a-zA-Z]*o", kept[-1]):
            has_errexit = True
            kept[-1] = kept[-1][:-1]
        elif re.fullmatch(r"-[a-zA-Z]*e[a-zA-Z]*", word):
            has_errexit = True
            kept.append(word.replace("e", ""))
        else:
            kept.append(word)
    if not has_errexit:
        return code
    kept = [word for word in kept if word != "-"]
    line = "%sset -E %s; %s" % (match[1], " ".join(kept), END_CELL)
    return (line + text[match.end() :]).encode("utf-8", "surrogateescape")
