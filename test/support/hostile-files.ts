/** Files of clients that attack programs reading them, and some that are only unusual. */

/** Repeats a text as often as it fits into this number of characters. */
function fill(characters: number, begin: string, part: (n: number) => string): string {
  const parts = [begin]
  for (let n = 0, length = begin.length; ; n += 1) {
    const next = part(n)
    length += next.length
    if (length > characters) return parts.join('')
    parts.push(next)
  }
}

const KIB = 1024
/** A file of Codex with the server `x`. */
export const codex = (rest: string): string => `[mcp_servers.x]\n${rest}`
/** A file of Goose with the extension `x`. */
export const goose = (rest: string): string => `extensions:\n  x:\n${rest}`
/** The settings of a client with these servers. */
export const inMap = (servers: string): string => `{"mcpServers": {${servers}}}`
/** The `url` member of an unreachable server. */
export const URL_MEMBER = '"url": "https://never.example/mcp"'
const times = (count: number, part: (n: number) => string, between = ', '): string =>
  Array.from({ length: count }, (_, n) => part(n)).join(between)
/** Lists of YAML, each of which expands to ten of the one before. */
export const aliases = (levels: number): string =>
  times(levels, n => `  a${n}: &a${n} [${times(10, () => (n === 0 ? '1' : `*a${n - 1}`))}]`, '\n')
const utf16 = (text: string): string => Buffer.from(`\ufeff${text}`, 'utf16le').toString('latin1')

/** Documents that `POST /api/import` rejects, with the expected message. */
export const REFUSED: readonly (readonly [what: string, document: unknown, said: RegExp])[] = [
  ['yaml: aliases of aliases', `extensions:\n${aliases(12)}\n`, /Goose.*more than 20000 values/],
  [
    'yaml: aliases of a long text',
    goose(`    s: &s ${'x'.repeat(9_000)}\n    args: [${times(200, () => '*s')}]\n`),
    /Goose.*characters/,
  ],
  [
    'yaml: an alias as a long key',
    goose(`    s: &s ${'x'.repeat(9_000)}\n    env: {*s : 1}\n`),
    /Goose.*keys that lead/,
  ],
  ['yaml: an alias of itself', 'extensions: &a\n  x: *a\n', /Goose.*a part of/],
  ['yaml: a list in itself', goose('    type: stdio\n    args: &a [*a]\n'), /Goose.*a part of/],
  ['yaml: aliases as a key', `extensions:\n${aliases(3)}\n  k: {? *a2 : 1}\n`, /Goose.*line 5/],
  ['yaml: brackets', `extensions:\n  x: ${'['.repeat(250 * KIB)}`, /Goose.*line 2/],
  ['yaml: dashes', `extensions:\n  x:\n    ${'- '.repeat(120 * KIB)}`, /Goose.*line 3/],
  ['yaml: indentation', fill(250 * KIB, 'extensions:\n', n => `${' '.repeat(n + 1)}a:\n`), /Goose.*line/],
  ['yaml: a key twice', goose('    type: stdio\n    cmd: a\n    cmd: b\n'), /Goose.*line 5.*duplicated/],
  ['yaml: a key twice, as number and text', goose('    1: a\n    "1": b\n'), /Goose.*duplicated/],
  ['yaml: a merge key twice', goose('    <<: {cmd: a}\n    <<: {cmd: b}\n'), /Goose.*duplicated/],
  ['yaml: a function', goose('    cmd: !!js/function "function () { return 1 }"\n'), /Goose.*tag/],
  ['yaml: an object of Python', goose('    cmd: !!python/object/apply:os.system ["id"]\n'), /Goose.*tag/],
  ['yaml: a tag of its own', goose('    cmd: !run id\n'), /Goose.*tag/],
  ['yaml: bytes', goose('    cmd: !!binary AAAA\n'), /Goose.*tag/],
  ['yaml: a list as a key', goose('    [a, b]: c\n'), /Goose.*key/],
  ['yaml: two documents', `${goose('    cmd: a\n')}---\nextensions: {}\n`, /Goose.*single document/],
  ['yaml: ten thousand documents', fill(250 * KIB, goose('    cmd: a\n'), () => '---\n'), /Goose.*single document/],
  ['yaml: another version', `%YAML 9.9\n---\n${goose('    cmd: a\n')}`, /Goose.*version/],
  ['yaml: a tab', 'extensions:\n\tx: 1\n', /Goose.*tab/],
  ['yaml: a NUL', goose('    cmd: "\0"\n'), /Goose.*null byte/],
  ['yaml: an unclosed text', goose(`    cmd: "${'x\n  '.repeat(50 * KIB)}`), /Goose.*line/],
  [
    'yaml: a hundred thousand entries',
    `extensions:\n${times(100_000, n => `  a${n}: 1`, '\n')}`,
    /Goose.*more than 262144 characters/,
  ],
  ['yaml: as many as fit', fill(250 * KIB, 'extensions:\n', n => `  a${n}: 1\n`), /Goose.*values/],
  ['yaml: as many tags as fit', fill(250 * KIB, 'extensions:\n', n => `  a${n}: !!str 1\n`), /members/],
  [
    'yaml: as many small lists as fit',
    fill(250 * KIB, 'extensions:\n', n => `  a${n}: ${'['.repeat(50)}${']'.repeat(50)}\n`),
    /values/,
  ],
  ['yaml: a text of 1 MiB', goose(`    cmd: ${'x'.repeat(1_024 * KIB)}\n`), /Goose.*more than 262144 characters/],

  [
    'toml: a hundred thousand dotted keys',
    codex(times(100_000, n => `a${n}.b = 1`, '\n')),
    /Codex.*more than 262144 characters/,
  ],
  ['toml: as many dotted keys as fit', fill(250 * KIB, codex(''), n => `a${n}.b=1\n`), /Codex.*values/],
  ['toml: as many tables as fit', fill(250 * KIB, codex(''), n => `[a${n}]\n`), /Codex.*values/],
  ['toml: as many tables of a list as fit', fill(250 * KIB, codex(''), () => '[[a]]\n'), /Codex.*values/],
  ['toml: a long dotted key', codex(`${'a.'.repeat(120 * KIB)}b = 1\n`), /Codex.*(?:nested|levels|keys)/],
  ['toml: brackets', codex(`args = ${'['.repeat(120 * KIB)}`), /Codex.*line 2/],
  ['toml: inline tables', codex(`args = ${'{a='.repeat(60 * KIB)}`), /Codex.*line 2/],
  ['toml: a table twice', `${codex('command = "a"\n')}[mcp_servers.x]\ncommand = "b"\n`, /Codex.*line 3/],
  ['toml: a key twice', codex('command = "a"\ncommand = "b"\n'), /Codex.*line 3/],
  ['toml: a table over a key', codex('env = 1\n[mcp_servers.x.env]\nA = "1"\n'), /Codex.*line 3/],
  ['toml: dotted keys into an inline table', codex('env = {}\nenv.A = "1"\n'), /Codex.*line 3/],
  ['toml: no date', codex('since = 2026-02-30T25:61:00Z\n'), /Codex.*line 2/],
  ['toml: an octal with a leading zero', codex('timeout = 0123\n'), /Codex.*line 2/],
  ['toml: only carriage returns', '[mcp_servers.x]\rcommand = "a"\r', /Codex.*line/],
  ['toml: a NUL', codex('command = "\0"\n'), /Codex.*line 2/],
  ['toml: an unclosed text', codex('command = "a\n'), /Codex.*line 2/],
  ['toml: an unclosed list of blank lines', codex(`args = [${'\n'.repeat(250 * KIB)}`), /Codex.*line 2/],
  [
    'toml: a long key above many',
    `[mcp_servers.${'x'.repeat(100 * KIB)}]\n${times(5_000, n => `a${n} = 1`, '\n')}`,
    /Codex.*keys that lead/,
  ],

  ['json: a key twice', inMap(`"a": {${URL_MEMBER}, "url": "https://b.example"}`), /twice/],
  ['json: a server twice', inMap(`"a": {${URL_MEMBER}}, "a": {${URL_MEMBER}}`), /twice/],
  ['json: a section of a hub twice', `{"users": [], "mcpServers": {}, "users": [{"username": "eve"}]}`, /twice/],
  ['json: a server of Zed twice', `{"context_servers": {"a": {${URL_MEMBER}}, "a": {${URL_MEMBER}}}}`, /twice/],
  ['only carriage returns', 'extra:\r  x:\r    type: stdio\r    cmd: x\r', /names no server/],
  ['yaml of another program', 'services: {x: {image: y}}', /names no server/],
  ['toml of another program', 'services = { x = "y" }', /names no server/],
  ['json: a forbidden key', inMap(`"a": {${URL_MEMBER}, "__proto__": {"command": "x"}}`), /__proto__/],
  ['json: a forbidden name', inMap(`"__proto__": {${URL_MEMBER}}`), /__proto__/],
  ['json: brackets', inMap(`"a": ${'['.repeat(500 * KIB)}${']'.repeat(500 * KIB)}`), /nested/],
  ['json: brackets that are not closed', '['.repeat(1_000 * KIB), /nested|no JSON|plain JSON/],
  ['json: a hundred thousand servers', inMap(times(100_000, n => `"a${n}": {${URL_MEMBER}}`)), /members/],
  [
    'json: a hundred thousand values in comments',
    `/* */ ${inMap(`"a": [${times(100_000, () => '1')}]`)}`,
    /members|plain JSON/,
  ],
  ['json: a million texts', `[${times(1_000_000, () => '"a"', ',')}]`, /members/],
  ['json: a text and no end', `{"mcpServers": {"a": {"command": "${'x'.repeat(1_024 * KIB)}`, /JSON/],
  ['json: text in UTF-16', utf16(inMap(`"a": {${URL_MEMBER}}`)), /./],
  ['json: a number without end', `{"mcpServers": {"a": {"timeout": ${'9'.repeat(1_024 * KIB)}`, /JSON/],
  [
    'a hundred thousand servers as JSON',
    { mcpServers: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`a${n}`, {}])) },
    /members/,
  ],
  [
    'ten thousand servers of Claude Code of one name',
    {
      projects: Object.fromEntries(
        Array.from({ length: 10_000 }, (_, n) => [`p${n}`, { mcpServers: { db: { command: `${n}` } } }]),
      ),
    },
    /names \d+ things|members/,
  ],
  [
    'a long name with many fields',
    {
      context_servers: {
        ['x'.repeat(100_000)]: Object.fromEntries([
          ['command', 'x'],
          ...Array.from({ length: 5_000 }, (_, n) => [`a${n}`, 1]),
        ]),
      },
    },
    /keys that lead/,
  ],
  ['blank lines', `x${'\n'.repeat(250 * KIB)}x`, /./],
  ['lines of blanks', `x${' \t\n'.repeat(80 * KIB)}x`, /./],
  ['lines of brackets and blanks', `x\n${`[${' '.repeat(7)}\n`.repeat(25 * KIB)}x`, /./],
]

/** Each server in these is invalid, so that an import creates nothing. */
export const INVALID: readonly (readonly [what: string, document: unknown])[] = [
  ['yaml: a type that every object has', goose('    type: constructor\n    cmd: x\n')],
  ['yaml: no number', goose('    type: stdio\n    cmd: x\n    timeout: .nan\n')],
  ['yaml: without end', goose('    type: stdio\n    cmd: x\n    timeout: .inf\n')],
  ['yaml: a merge key', goose('    type: stdio\n    <<: {cmd: x}\n')],
  ['yaml: a number as a program', goose('    type: stdio\n    cmd: 1\n')],
  ['yaml: a list as a switch', goose('    type: stdio\n    cmd: x\n    enabled: [true]\n')],
  ['toml: no number', codex('command = "x"\ntool_timeout_sec = nan\n')],
  ['toml: without end', codex('command = "x"\ntool_timeout_sec = inf\n')],
  ['toml: a huge integer', codex('command = "x"\ntool_timeout_sec = 99999999999999999999999999\n')],
  ['toml: no table', 'mcp_servers.x = 1\n'],
  ['json: a NUL in a text', inMap('"a": {"command": "x\\u0000y"}')],
  ['json: half a character', inMap('"a\\ud800": {"command": "x"}')],
  ['json: half a character in a value', inMap('"a": {"command": "x\\ud800"}')],
  ['json: a number in place of a text', inMap('"a": {"command": 1e400}')],
  ['json: a long program', inMap(`"a": {"command": "${'x'.repeat(900 * KIB)}"}`)],
  ['a command line of two lines', 'npx a\rnpx b'],
]

/** Documents whose servers are read despite unusual parts. */
export const READ: readonly (readonly [what: string, document: unknown, bodies: object])[] = [
  ['yaml: a byte order mark', `\ufeff${goose('    type: stdio\n    cmd: x\n')}`, { x: { command: 'x' } }],
  ['yaml: names of prototypes', 'extensions:\n  __proto__: {type: stdio, cmd: x}\n', { server: { command: 'x' } }],
  [
    'yaml: a text in place of variables',
    goose('    type: stdio\n    cmd: x\n    envs: A=1\n'),
    { x: { command: 'x', env: { A: '1' } } },
  ],
  [
    'toml: a text in place of variables',
    codex('command = "x"\nenv = "A=1"\n'),
    { x: { command: 'x', env: { A: '1' } } },
  ],
  [
    'toml: a list in place of headers',
    codex('url = "https://never.example"\nhttp_headers = ["A: 1"]\n'),
    { x: { url: 'https://never.example', headers: { A: '1' } } },
  ],
  [
    'json: a list in place of variables, in Zed',
    { context_servers: { a: { command: 'x', env: ['A=1'] } } },
    { a: { command: 'x', env: { A: '1' } } },
  ],
  [
    'json: a text in place of headers, in MetaMCP',
    { serverDefaults: {}, mcpServers: { a: { url: 'https://never.example', headers: 'A: 1' } } },
    { a: { url: 'https://never.example', headers: { A: '1' } } },
  ],
  ['toml: names of prototypes', '[mcp_servers.__proto__]\ncommand = "x"\n', { server: { command: 'x' } }],
  ['json: a NUL before it', `\0${inMap(`"a": {${URL_MEMBER}}`)}`, { a: { url: 'https://never.example/mcp' } }],
  ['yaml: only carriage returns', 'extensions:\r  x:\r    type: stdio\r    cmd: x\r', { x: { command: 'x' } }],
  ['yaml: carriage returns', 'extensions:\r\n  x:\r\n    type: stdio\r\n    cmd: x\r\n', { x: { command: 'x' } }],
  [
    'yaml: an alias',
    'base: &b {type: stdio, cmd: x}\nextensions:\n  a: *b\n  c: *b\n',
    { a: { command: 'x' }, c: { command: 'x' } },
  ],
  [
    'yaml: texts that look like values',
    goose('    type: stdio\n    cmd: "yes"\n    args: [no, "1e3", 2001-01-01]\n'),
    { x: { command: 'yes', args: ['no', '1e3', '2001-01-01'] } },
  ],
  [
    'toml: a date in place of a text',
    codex('command = 2026-01-01T00:00:00Z\n'),
    { x: { command: '2026-01-01T00:00:00.000Z' } },
  ],
  ['toml: a byte order mark', `\ufeff${codex('command = "x"\r\n')}`, { x: { command: 'x' } }],
  [
    'toml: inf, nan, dates and huge integers elsewhere',
    `a = inf\nb = -nan\nc = 1979-05-27\nd = 9999999999999999999\n${codex('command = "x"\n')}`,
    { x: { command: 'x' } },
  ],
  [
    'toml: dotted keys',
    'mcp_servers.x.command = "x"\nmcp_servers.x.args = ["y"]\n',
    { x: { command: 'x', args: ['y'] } },
  ],
  ['toml: an inline table', 'mcp_servers = { x = { command = "x" } }\n', { x: { command: 'x' } }],
  ['json: a byte order mark', `\ufeff${inMap(`"a": {${URL_MEMBER}}`)}`, { a: { url: 'https://never.example/mcp' } }],
  [
    'json: only carriage returns',
    `{\r"mcpServers": {\r"a": {${URL_MEMBER}}\r}\r}`,
    { a: { url: 'https://never.example/mcp' } },
  ],
  [
    'json: names of what every object has, beside and in an entry',
    {
      users: [],
      toString: { a: 1 },
      valueOf: [1],
      mcpServers: { a: { url: 'https://never.example/mcp', toString: 'x' } },
    },
    { a: { url: 'https://never.example/mcp' } },
  ],
  [
    'json: an entry of Zed with such names',
    { context_servers: { a: { command: 'x', toString: 1, valueOf: {}, hasOwnProperty: 'x' } } },
    { a: { command: 'x' } },
  ],
  [
    'toml: a name with signs of a replacement',
    '[mcp_servers."$&"]\ncommand = ""\n[mcp_servers.x]\ncommand = "x"\n',
    { x: { command: 'x' } },
  ],
]
