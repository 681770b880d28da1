// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of other programs
/** References to secrets in files of other programs: an import asks for each, and no server gets the text of the reference. */
import { expect, test } from 'bun:test'
import { importText } from '../../../core/config/import/document.ts'
import { parseImportText } from '../../../core/config/import-text.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { UserActor } from '../../../core/contract/records.ts'
import type { ImportSource } from '../../../core/features/imports.ts'
import { FILE_ADDITIONS } from '../../../core/hub/file-additions.ts'
import { RECORD_KINDS } from '../../../core/hub/record-kinds.ts'
import { ImportReader } from '../../../core/moving/import-reader.ts'
import { ownReferences } from '../../../core/moving/import-references.ts'
import { codex } from '../../../plugins/import-clients/codex.ts'
import { opencode } from '../../../plugins/import-clients/opencode.ts'
import { zed } from '../../../plugins/import-clients/zed.ts'

const reader = new ImportReader({
  additions: { ...FILE_ADDITIONS, leftBehind: {} },
  templates: () => undefined,
  ...{ kinds: { all: () => RECORD_KINDS }, attached: { names: () => [] } },
  sources: () =>
    new Map<string, ImportSource>([
      ['codex', codex],
      ['opencode', opencode],
      ['zed', zed],
    ]),
  parseText: (text, format) => parseImportText(text, format),
  readDocument: document => importText(typeof document === 'string' ? document : JSON.stringify(document)),
})
const bob = { userId: 'u', role: 'user' } as UserActor
const OPTIONS = { answers: {}, choices: {}, off: false, hubUrl: 'http://hub.example' }

const url = 'https://far.never.example/mcp'
const litellm = (fields: object) => JSON.stringify({ mcp_servers: { a: { url, ...fields } } })
const map = (fields: object) => JSON.stringify({ mcpServers: { a: { url, ...fields } } })
const env = (value: string) => JSON.stringify({ mcpServers: { a: { command: 'x', env: { API_KEY: value } } } })
const header = (value: string) => map({ headers: { Authorization: value } })

/** Document, what is asked for, and the value of the only header or variable of the program once it is answered with `s3`. */
const ROWS: readonly (readonly [
  what: string,
  document: string,
  asked: readonly string[],
  value: Record<string, string>,
])[] = [
  ['LiteLLM, a header', litellm({ static_headers: { 'X-Key': 'os.environ/MY_KEY' } }), ['MY_KEY'], { 'X-Key': 's3' }],
  [
    'LiteLLM, YAML',
    `mcp_servers:\n  a:\n    url: ${url}\n    auth_type: bearer_token\n    auth_value: os.environ/MY_KEY\n`,
    ['MY_KEY'],
    { Authorization: 'Bearer s3' },
  ],
  [
    'LiteLLM, a key',
    litellm({ auth_type: 'api_key', auth_value: 'os.environ/MY_KEY' }),
    ['MY_KEY'],
    { 'X-API-Key': 's3' },
  ],
  [
    'LiteLLM, a literal',
    litellm({ auth_type: 'basic', auth_value: 'ada:pw' }),
    [],
    { Authorization: 'Basic YWRhOnB3' },
  ],
  [
    'LiteLLM, basic',
    litellm({ auth_type: 'basic', auth_value: 'os.environ/MY_KEY' }),
    ['MY_KEY_BASE64'],
    { Authorization: 'Basic s3' },
  ],
  ['LiteLLM, raw', litellm({ auth_type: 'authorization', auth_value: 'os.environ/K' }), ['K'], { Authorization: 's3' }],
  [
    'Continue',
    `mcpServers:\n  - name: a\n    command: x\n    env:\n      API_KEY: \${{ secrets.MY_KEY }}\n`,
    ['MY_KEY'],
    { API_KEY: 's3' },
  ],
  ['Continue, of an organization', env('${{ secrets.org/pkg/MY_KEY }}'), ['MY_KEY'], { API_KEY: 's3' }],
  ['Continue, an input', env('${{inputs.MY_KEY}}'), ['MY_KEY'], { API_KEY: 's3' }],
  ['Continue, its key', map({ apiKey: '${{ secrets.MY_KEY }}' }), ['MY_KEY'], { Authorization: 'Bearer s3' }],
  [
    'Continue, options',
    map({ requestOptions: { headers: { 'X-Key': '${{ secrets.MY_KEY }}' } } }),
    ['MY_KEY'],
    { 'X-Key': 's3' },
  ],
  ['LibreChat, the environment', header('Bearer ${MY_KEY}'), ['MY_KEY'], { Authorization: 'Bearer s3' }],
  ['LibreChat, the user', header('{{LIBRECHAT_USER_ID}}'), ['LIBRECHAT_USER_ID'], { Authorization: 's3' }],
  ['LibreChat, a value of the user', header('Bearer {{MY_KEY}}'), ['MY_KEY'], { Authorization: 'Bearer s3' }],
  ['VS Code, an input', header('Bearer ${input:my-key}'), ['my-key'], { Authorization: 'Bearer s3' }],
  ['VS Code, the environment', env('${env:MY_KEY}'), ['MY_KEY'], { API_KEY: 's3' }],
  [
    'Zed',
    JSON.stringify({ context_servers: { a: { url, headers: { Authorization: 'Bearer $MY_KEY' } } } }),
    ['MY_KEY'],
    { Authorization: 'Bearer s3' },
  ],
  [
    'Codex, a token',
    `[mcp_servers.a]\nurl = "${url}"\nbearer_token_env_var = "MY_KEY"\n`,
    ['MY_KEY'],
    { Authorization: 'Bearer s3' },
  ],
  [
    'Codex, a header',
    `[mcp_servers.a]\nurl = "${url}"\nenv_http_headers = { X-Key = "MY_KEY" }\n`,
    ['MY_KEY'],
    { 'X-Key': 's3' },
  ],
  ['Codex in JSON', map({ bearer_token_env_var: 'MY_KEY' }), ['MY_KEY'], { Authorization: 'Bearer s3' }],
  ['Gemini CLI, Qwen Code', env('$MY_KEY'), ['MY_KEY'], { API_KEY: 's3' }],
  [
    'opencode',
    JSON.stringify({ mcp: { a: { type: 'remote', url, headers: { 'X-Key': '{env:MY_KEY}' } } } }),
    ['MY_KEY'],
    { 'X-Key': 's3' },
  ],
  ['Copilot', env('COPILOT_MCP_MY_KEY'), ['COPILOT_MCP_MY_KEY'], { API_KEY: 's3' }],
  ['1Password', env('op://vault/item/field'), ['API_KEY'], { API_KEY: 's3' }],
  [
    'Amp',
    JSON.stringify({ 'amp.mcpServers': { a: { url, headers: { 'X-Key': '${MY_KEY}' } } } }),
    ['MY_KEY'],
    { 'X-Key': 's3' },
  ],
  ['a value with a dollar sign', env('pa$$word'), [], { API_KEY: 'pa$$word' }],
  [
    'a template of a program',
    JSON.stringify({ mcpServers: { a: { command: 'x', args: ['{{.Names}}'], env: { A: 'b' } } } }),
    [],
    { A: 'b' },
  ],
]

test.each(ROWS)('%s', async (_, document, asked, value) => {
  const { items } = await reader.read(document, bob, OPTIONS)
  const [item] = items
  if (items.length !== 1 || item?.kind !== 'server') throw new Error(`No server was read: ${JSON.stringify(items)}`)
  const open = ownReferences(item.body, {}, item.references)
  expect(open.missing.map(({ name }) => name)).toEqual([...asked])
  const answers = Object.fromEntries(asked.map(name => [name, 's3']))
  const { body, missing } = ownReferences(item.body, answers, item.references)
  const { variables = {} } = body as { variables?: Record<string, string> }
  expect([missing, variables]).toEqual([[], answers])
  const filled = Object.entries((body.headers ?? body.env) as JsonObject).map(([name, text]) => [
    name,
    String(text).replaceAll(/\$\{([^}]+)\}/g, (_, variable: string) => variables[variable] ?? 'nothing'),
  ])
  expect(Object.fromEntries(filled)).toEqual(value)
  expect((item.warnings ?? []).filter(warning => /auth_|apiKey|bearer|requestOptions/.test(warning))).toEqual([])
})
