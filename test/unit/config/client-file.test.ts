/** Several changes of one file of a client at once: only what they name differs. */
import { expect, test } from 'bun:test'
import {
  type ConfigChange,
  type ConfigSyntax,
  UnreadableConfig,
} from '../../../core/config/client-file/config-syntax.ts'
import { JSON_CONFIG } from '../../../core/config/client-file/json-config.ts'
import { TOML_CONFIG } from '../../../core/config/client-file/toml-config.ts'
import { YAML_CONFIG } from '../../../core/config/client-file/yaml-config.ts'

const gone = (...path: (string | number)[]): ConfigChange => ({ path, value: undefined })
const off = (...path: (string | number)[]): ConfigChange => ({ path, value: false })

test.each<[string, ConfigSyntax, string, readonly ConfigChange[], string]>([
  [
    'JSON, neighbours on one line',
    ...([JSON_CONFIG, '{ "m": { "a": 1, "b": 2, "c": 3, "d": {} } } // x\n'] as const),
    [gone('m', 'b'), gone('m', 'c'), off('m', 'd', 'on')],
    '{ "m": { "a": 1, "d": {\n  "on": false\n} } } // x\n',
  ],
  [
    'JSON, the last ones without a comma behind',
    ...([JSON_CONFIG, '{\n  "m": {\n    "a": 1, // kept\n    "b": 2,\n    "c": 3\n  }\n}\n'] as const),
    [gone('m', 'b'), gone('m', 'c')],
    '{\n  "m": {\n    "a": 1 // kept\n  }\n}\n',
  ],
  [
    'JSON, items of a list',
    ...([JSON_CONFIG, '{"m":[{"on":true},{},{"on":true}]}'] as const),
    [gone('m', 0), off('m', 2, 'on'), gone('m', 1)],
    '{"m":[{"on":false}]}',
  ],
  [
    'TOML, tables with other spellings',
    TOML_CONFIG,
    'x = 1 # kept\n[m.a]\nu = 1\n[m.a.env]\nk = "[m.b]"\n[ m . "b c" ] # b\nu = 2\non = true # yes\n[m.\'d\']\nu = 3\n',
    [gone('m', 'a'), off('m', 'b c', 'on'), off('m', 'd', 'on')],
    'x = 1 # kept\n[ m . "b c" ] # b\nu = 2\non = false # yes\n[m.\'d\']\non = false\nu = 3\n',
  ],
  [
    'YAML, comments before what is removed',
    YAML_CONFIG,
    'm: # all\n  # of a\n  a: {u: 1}\n\n  b:\n    u: 2 # two\n    on: yes-no # was\n  # of c\n  "c":\n    u: 3\nz: 1\n',
    [gone('m', 'a'), off('m', 'b', 'on'), off('m', 'c', 'on')],
    'm: # all\n  # of a\n\n  b:\n    u: 2 # two\n    on: false # was\n  # of c\n  "c":\n    u: 3\n    on: false\nz: 1\n',
  ],
  [
    'YAML, a list of which nothing is left, and line ends of Windows',
    ...([YAML_CONFIG, 'm: # all\r\n- name: a\r\n  u: 1\r\n- name: b\r\nz:\r\n  - name: c\r\n'] as const),
    [gone('m', 0), gone('m', 1), off('z', 0, 'on')],
    'm: [] # all\r\nz:\r\n  - name: c\r\n    on: false\r\n',
  ],
  [
    'YAML, a file without a line end',
    ...([YAML_CONFIG, 'm:\n  a:\n    u: 1'] as const),
    [off('m', 'a', 'on')],
    'm:\n  a:\n    u: 1\n    on: false',
  ],
  [
    'YAML, a key without a value',
    ...([YAML_CONFIG, 'm:\n  a:\n    on: # no\n'] as const),
    [off('m', 'a', 'on')],
    'm:\n  a:\n    on: false # no\n',
  ],
])('%s', (_, syntax, before, changes, after) => {
  expect(syntax.change(before, changes)).toBe(after)
})

test.each<[ConfigSyntax, string, readonly ConfigChange[]]>([
  [YAML_CONFIG, 'm: {a: {u: 1}, b: {u: 2}}\n', [gone('m', 'a')]],
  [YAML_CONFIG, 'base: &b\n  u: 1\nm:\n  a: *b\n', [off('m', 'a', 'on')]],
  [YAML_CONFIG, 'm: &all\n  a: {u: 1}\nothers: *all\n', [gone('m', 'a')]],
  [YAML_CONFIG, 'm:\n  a: 1\n  a: 2\n', [gone('m', 'a')]],
  [TOML_CONFIG, 'm = { a = { u = 1 } }\n', [gone('m', 'a')]],
  [TOML_CONFIG, '[m.a]\nu = """\n[m.b]\n"""\n[m.b]\nu = 1\n', [gone('m', 'b')]],
])('what cannot be changed alone is refused: %#', (syntax, text, changes) => {
  expect(() => syntax.change(text, changes)).toThrow(UnreadableConfig)
})

test('a hundred entries cost about as much as one', () => {
  const names = Array.from({ length: 120 }, (_, at) => `s${at}`)
  for (const [syntax, line, rest] of [
    [JSON_CONFIG, (name: string) => `"${name}": {"url": "https://${name}.example"}`, ['{"m":{', ',\n', '}}']],
    [TOML_CONFIG, (name: string) => `[m.${name}]\nurl = "https://${name}.example"`, ['', '\n', '']],
    [YAML_CONFIG, (name: string) => `  ${name}:\n    url: https://${name}.example`, ['m:\n', '\n', '\n']],
  ] as const) {
    const [start, between, end] = rest
    const text = `${start}${names.map(line).join(between)}${end}`
    const timed = (changes: readonly ConfigChange[]): number => {
      const from = process.cpuUsage()
      syntax.change(text, changes)
      const { user, system } = process.cpuUsage(from)
      return user + system
    }
    timed([off('m', 's0', 'on')])
    const one = Math.min(timed([off('m', 's1', 'on')]), timed([off('m', 's2', 'on')]))
    const all = Math.min(...[0, 1].map(() => timed(names.map(name => off('m', name, 'on')))))
    // One parse for each change would be a hundred times as much.
    expect(all).toBeLessThan(30 * one + 20_000)
  }
})
