/** An import by REST gives back the text of the file with its servers off, and a rollback gives back the text as it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { load as parseYaml } from 'js-yaml'
import { parse as parseToml } from 'smol-toml'
import { readJsonc } from '../../core/config/jsonc.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let bob: Client
let eve: Client

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  ;[bob, eve] = await Promise.all([hub.user('bob'), hub.user('eve')])
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

const far = (name: string) => `https://${name}.never.example/mcp`
const plan = (wanted: object) => bob.ok('POST', '/api/import?dryRun=true', wanted)
const take = async (wanted: object) => {
  const { planHash } = await plan(wanted)
  return bob.ok('POST', '/api/import', { ...wanted, planHash })
}
const names = async (): Promise<string[]> =>
  (await bob.ok('GET', '/api/servers')).items.map(({ name }: { name: string }) => name).toSorted()

const CURSOR = `{ // mine
  "mcpServers": {
    "one": { "url": "${far('one')}" },
    "two": { "url": "${far('two')}", "disabled": false }, // two
  },
}
`
const CODEX = `# mine\n[mcp_servers.first]\nurl = "${far('first')}" # far\n`
const GOOSE = `extensions: # mine\n  far:\n    type: streamable_http\n    uri: ${far('far')}\n    enabled: true # on\n`
const CONTINUE = `name: x\nmcpServers:\n  - name: alpha\n    url: ${far('alpha')}\nmodels: [] # none\n`

test.each<[string, string, string, (text: string) => unknown, unknown, string, RegExp | undefined]>([
  [
    ...(['client', 'json', CURSOR, (text: string) => readJsonc(text).value] as const),
    { mcpServers: { two: { url: far('two'), disabled: true } } },
    '// two',
    undefined,
  ],
  [
    ...(['codex', 'toml', CODEX, (text: string) => parseToml(text)] as const),
    { mcp_servers: { first: { url: far('first'), enabled: false } } },
    '# far',
    /\.codex/,
  ],
  [
    ...(['goose', 'yaml', GOOSE, (text: string) => parseYaml(text)] as const),
    { extensions: { far: { type: 'streamable_http', uri: far('far'), enabled: false } } },
    'enabled: false # on',
    /goose/,
  ],
  [
    ...(['client', 'yaml', CONTINUE, (text: string) => parseYaml(text)] as const),
    { name: 'x', mcpServers: [], models: [] },
    '# none',
    undefined,
  ],
])('%s, %s: the plan and the import have the changed text, the rollback the one before', async (...row) => {
  const [source, format, document, parse, value, kept, place] = row
  const wanted = { document, switchOff: true }
  const { switchedOff: planned, source: read } = await plan(wanted)
  expect([read, planned.format, planned.left]).toEqual([source, format, []])
  const made = await take(wanted)
  expect(made.switchedOff).toEqual(planned)
  expect(parse(planned.text)).toEqual(value)
  expect(planned.text).toContain(kept)
  expect(planned.off.toSorted()).toEqual(await names())
  if (place === undefined) expect(planned.places).toEqual([])
  else expect(planned.places[0].path).toMatch(place)
  // Only the caller sees the imported servers and the kept file.
  expect((await eve.request('POST', `/api/import/${made.id}/rollback`)).status).toBe(404)
  const taken = await bob.ok('POST', `/api/import/${made.id}/rollback`)
  expect([taken.original, await names()]).toEqual([{ format, text: document }, []])
  const settings = await bob.ok('GET', '/api/settings')
  expect(JSON.stringify(settings)).not.toContain('importReplaced')
})

test('without the wish neither answer has a text, and nothing is kept', async () => {
  const document = CURSOR
  expect((await plan({ document })).switchedOff).toBeUndefined()
  const made = await take({ document })
  expect(made.switchedOff).toBeUndefined()
  expect((await bob.ok('POST', `/api/import/${made.id}/rollback`)).original).toBeUndefined()
})

test('what the hub does not take over stays on; pointers name the ones that are switched off', async () => {
  const document = JSON.stringify({
    mcpServers: {
      wanting: { url: far('x'), headers: { Authorization: `Bearer \${NOBODY}` } },
      bad: { command: 5 },
      good: { url: far('good') },
    },
  })
  const { switchedOff } = await plan({ document, switchOff: true })
  expect(switchedOff.off).toEqual(['good'])
  expect(switchedOff.left).toEqual([
    { name: 'wanting', why: 'it is switched off in the hub' },
    { name: 'bad', why: 'the hub did not take it over' },
  ])
  const { switchedOff: chosen } = await plan({ document, switchOff: ['#/mcpServers/bad', '#/mcpServers/wanting'] })
  expect(JSON.parse(chosen.text)).toEqual({ mcpServers: { good: { url: far('good') } } })
  const { entries } = await bob.ok('POST', '/api/servers/import?dryRun=true', { document })
  expect(entries.map(({ at }: { at: string }) => at)).toEqual([
    '#/mcpServers/wanting',
    '#/mcpServers/bad',
    '#/mcpServers/good',
  ])
})

test.each<[string, object, string, string]>([
  ['a document that is no text', { document: { mcpServers: { a: { url: far('a') } } } }, '#/switchOff', 'as the text'],
  ['a command line', { document: 'npx -y some-server' }, '#/switchOff', 'cannot be switched off'],
  ['a list of one line', { document: `mcpServers: {tiny: {url: "${far('tiny')}"}}\n` }, '#/switchOff', 'by hand'],
  ['an unknown pointer', { document: CURSOR, switchOff: ['#/mcpServers/none'] }, '#/switchOff/0', 'no server at'],
])('%s is refused', async (_, wanted, pointer, words) => {
  const refused = await bob.request('POST', '/api/import?dryRun=true', { switchOff: true, ...wanted })
  expect([refused.status, refused.json.code]).toEqual([400, 'validation_failed'])
  expect(refused.json.errors[0]).toEqual(
    expect.objectContaining({ pointer, code: 'import_invalid', detail: expect.stringContaining(words) }),
  )
})

test('a text that cannot be changed is found before anything is imported', async () => {
  const document = `mcpServers: {tiny: {url: "${far('tiny')}"}}\n`
  const { planHash } = await plan({ document })
  const refused = await bob.request('POST', '/api/import', { document, planHash, switchOff: true })
  expect(refused.json.errors[0].pointer).toBe('#/switchOff')
  expect([await names(), (await bob.ok('GET', '/api/import')).items]).toEqual([[], []])
})
