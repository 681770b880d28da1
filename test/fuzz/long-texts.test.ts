import { expect, test } from 'bun:test'
import { importDocument } from '../../core/config/import/document.ts'
import { readJsonc } from '../../core/config/jsonc.ts'
import { setAt } from '../../core/config/jsonc-edit.ts'
import { readSettingsText } from '../../core/config/settings-text.ts'
import { VARIABLES } from '../../core/config/variables.ts'
import { LineFramer } from '../../core/connections/worker/line-framer.ts'
import { readMessages, refuseDeep } from '../../core/connections/worker/links/incoming.ts'
import { checkHostLiteral } from '../../core/domain/address.ts'
import { parseDuration } from '../../core/domain/duration.ts'
import { parseExact } from '../../core/domain/json/exact-json.ts'
import { parseJsonObject } from '../../core/domain/json/json-guard.ts'
import { valueAt } from '../../core/domain/json/json-pointer.ts'
import { checkName, nameKey } from '../../core/domain/names.ts'
import { suggestNames } from '../../core/domain/nearest.ts'
import { shellWords } from '../../core/domain/program/shell-words.ts'
import { checkUrl } from '../../core/domain/server/address.ts'
import { expandVariables, textFiller } from '../../core/domain/server/variables.ts'
import { parseSize } from '../../core/domain/size.ts'
import { parseTimestamp } from '../../core/domain/timestamp.ts'
import { createHostList } from '../../core/http/hosts.ts'
import { decodeHeader } from '../../core/mcp/rpc/envelope.ts'
import { parseBody, readMessage } from '../../core/mcp/rpc/rpc.ts'
import { exposeNames } from '../../core/mcp/scope/naming.ts'
import { Steps, UriTemplate } from '../../core/mcp/scope/uri-template.ts'
import { ChunkedReader } from '../../core/outbound/body.ts'
import { parseHead } from '../../core/outbound/head.ts'
import { requireCanonical } from '../../core/request/canonical-path.ts'
import { headerItems } from '../../core/request/headers.ts'
import { Redactor } from '../../core/secrets/redact.ts'
import { LongMessageReader } from '../../core/transport-kit/long-message.ts'
import { SseParser } from '../../core/transport-kit/sse-parser.ts'
import { baseAddress, callAddress } from '../../plugins/transport-openapi/address.ts'
import { toolNames } from '../../plugins/transport-openapi/names.ts'
import { extent } from '../support/extent.ts'
import { atMost } from '../support/pace.ts'

const MIB = 1024 * 1024
/** At this size, work that grows with the square is far over the limit. */
const BYTES = extent(MIB / 16, MIB)
/** Smaller sizes first: work that grows with the square shows there before it takes minutes. */
const SIZES = extent([BYTES / 16, BYTES], [BYTES / 64, BYTES / 8, BYTES])
/**
 * Linear work takes some 10 ms, quadratic work many seconds or minutes. This is far above the one and below the other on any
 * machine.
 */
const LIMIT_MS = extent(500, 3_000)

type Text = (bytes: number) => string
const fill = (piece: string): Text => between('', piece, '')
const between =
  (head: string, piece: string, tail: string): Text =>
  bytes =>
    head + piece.repeat(Math.floor(bytes / piece.length)) + tail

/** Texts on which a careless expression or scan goes back over what it has seen. */
const HOSTILE: readonly Text[] = [
  ...[
    'a',
    ' ',
    '\t',
    '\n',
    '\r',
    '\r\n',
    '/',
    '\\',
    '.',
    '0',
    '-',
    '"',
    "'",
    '{',
    '[',
    '(',
    '${',
    '$${',
    '$',
    '%',
    ':',
    ',',
    '=',
    '@',
    '#',
    ';',
    '\0',
    'é',
    '\u0301',
    '\ud800',
    'ß',
    '//',
    '/*',
    '*/',
    '{}',
    '[]',
    '[[',
    '"a":',
    '$' + '{a}',
    '1w',
    'x: y\r\n',
    'data: x\n',
    '0,',
    '=?',
    'ﷺ',
  ].map(fill),
  between('', ' ', 'x'),
  between('http://a/', '/', 'x'),
  between('x', '_', 'x'),
  between('x', '/', 'x'),
  between('x', '.', 'x'),
  between('x', ' ', 'x'),
  between('HTTP/1.1 200 OK\r\nconnection: x', ' ', 'x\r\n'),
  between('http://', '.', 'a/'),
  between('http://', 'a.', ''),
  between('http://a', '@', '/'),
  between('"', '\\\\', '"'),
  between('"', '\\"', '"'),
  between('{"a":"', '\\\\', '"}'),
  between('{"a":[', '1,', '1]}'),
  between('{"a":', '[', ''),
  between('[', '{"a":1},', '1]'),
  between('{"jsonrpc":"2.0","id":', '1', ',"result":{}}'),
  between('{"result":', ' ', '{},"jsonrpc":"2.0","id":1}'),
  between('{"jsonrpc":"2.0","id":1,"result":{"a":"', 'x\\n', '"}}'),
  between('{', '"a":1,', '"b":2}'),
  between('npx ', '\\', ' x'),
  between("npx '", ' ', "'"),
  between('A', '=', ''),
  between('HTTP/1.1 200 OK\r\nx:', ' ', 'y'),
  between('HTTP/1.1 200 OK\r\n', 'a: b\r\n', ''),
  between('=?base64?', 'A', '?='),
  between('${', 'a', '}'),
  between('file:///', '{a}', ''),
  between('2027-01-01T00:00:00.', '0', 'Z'),
  between('', '1h', ''),
  between('// ', '/', '\n{}'),
  between('/*', '*', '/ {}'),
  between('{"mcpServers":{', '"a":{},', '"b":{}}}'),
]

const hosts = createHostList(['hub.example'], [])
const base = { folder: '/srv', runtime: '/bun', program: '/hub.ts' }
const redactor = new Redactor()
for (const secret of ['aaaaaab', '      x', '\\\\\\\\\\\\"', '......a']) redactor.add(secret)
const known = Array.from({ length: 500 }, (_, index) => `tool_${index}`)

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseDuration,
  parseSize,
  parseTimestamp,
  nameKey,
  shellWords,
  importDocument,
  readJsonc,
  parseJsonObject,
  parseExact,
  parseHead,
  requireCanonical,
  checkName: text => checkName('server', text),
  valueAt: text => valueAt({ a: [1] }, text),
  variables: text => textFiller(expandVariables({ a: text.slice(0, 1_000), b: text }).values, [])(text, '#'),
  headerItems,
  'OpenAPI addresses': text => callAddress(baseAddress(`https://a.example/${text}`, undefined), '/a', '', 1),
  'OpenAPI names': text => toolNames([{ id: undefined, method: 'get', path: text }]),
  'addresses of hosts': text => checkHostLiteral(text, { networks: [], admin: false }),
  checkUrl: text => checkUrl(text, '#', () => {}),
  settings: text => readSettingsText(Buffer.from(text), '/srv/x.json', base),
  setAt: text => setAt(text, ['b'], { c: 1 }),
  messages: text => refuseDeep(text) ?? readMessages(text),
  body: text => readMessage(parseBody(text)),
  host: text => hosts.requireHost(text),
  origin: text => hosts.requireOrigin(text, ['http://hub.example']),
  decodeHeader: text => decodeHeader(text, 'x'),
  suggestNames: text => suggestNames(text, known),
  exposeNames: text =>
    exposeNames(
      'tools',
      'auto',
      [1, 2].map(n => ({ serverId: `${n}`, alias: 'a', original: text, wanted: text })),
    ),
  template: text => [
    new UriTemplate(text).matches('file:///a', new Steps(1_000_000)),
    new UriTemplate('{a}{+b}{c}').matches(text, new Steps(1_000_000)),
  ],
  sse: text => new SseParser({ event: () => {} }).push(text),
  'sse in pieces': text => {
    const parser = new SseParser({ event: () => {} })
    for (let at = 0; at < text.length; at += 256) parser.push(text.slice(at, at + 256))
  },
  'lines in pieces': text => {
    const bytes = Buffer.from(text)
    const framer = new LineFramer({ maxBytes: 10 * MIB, line: () => {}, tooLong: () => {}, overflow: () => {} })
    for (let at = 0; at < bytes.length; at += 256) framer.push(bytes.subarray(at, at + 256))
  },
  'a long message in pieces': text => {
    const reader = new LongMessageReader()
    for (let at = 0; at < text.length; at += 256) reader.push(text.slice(at, at + 256))
    reader.end()
  },
  chunked: text => new ChunkedReader().push(Buffer.from(text), () => {}),
  redactor: text => redactor.text(text),
  // A variable of a process has at most 128 KiB.
  environment: text => VARIABLES.map(({ parse }) => parse(text.slice(0, 128 * 1024))),
}

for (const [name, parse] of Object.entries(PARSERS)) {
  test(`${name}: ${BYTES / 1024} KiB of anything take no longer than ${LIMIT_MS} ms`, () => {
    for (const text of HOSTILE) {
      for (const bytes of SIZES) {
        const made = text(bytes)
        const allowed = atMost(bytes === BYTES ? LIMIT_MS : LIMIT_MS / 4)
        let ms = timeOf(() => parse(made))
        // Other work of the machine may have made it slow.
        for (let again = 0; again < 2 && ms > allowed; again += 1)
          ms = Math.min(
            ms,
            timeOf(() => parse(made)),
          )
        if (ms > allowed)
          throw new Error(`${Math.round(ms)} ms for ${bytes} bytes like ${JSON.stringify(made.slice(0, 40))}`)
        expect(ms).toBeLessThanOrEqual(allowed)
      }
    }
  }, 300_000)
}

function timeOf(work: () => unknown): number {
  const start = performance.now()
  try {
    work()
  } catch {
    // Refusals are checked elsewhere; only the time matters here.
  }
  return performance.now() - start
}
