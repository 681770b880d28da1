import { describe, expect, test } from 'bun:test'
import type { ImportedEntry } from '../../../core/config/import/entry.ts'
import { documentOf, firstOfEachName } from '../../../core/http/routes/servers/server-import.ts'
import { ask, of, serverRecord, World } from './doubles.ts'

const entries: ImportedEntry[] = [
  { name: 'time', body: { command: 'uvx' } },
  { name: 'notes', body: { url: 'https://notes.example/mcp' } },
  { name: 'Notes', body: { url: 'https://notes.example/mcp' } },
  { name: 'bad', body: {} },
  { name: 'odd', body: {}, problem: { message: 'no command', pointer: '#/mcpServers/odd' } },
]

function world() {
  const texts: string[] = []
  const made = new World({
    importDocument: async document => {
      texts.push(String(document))
      return { entries }
    },
  })
  made.servers = [serverRecord()]
  return { made, texts }
}

type Entry = { name: string; verdict: string; pointer?: string; ref?: string }
const brief = (body: unknown) => of(body).entries.map(({ name, verdict }: Entry) => `${name} ${verdict}`)

describe('import', () => {
  test('as a dry run says of each entry what would come of it, and creates nothing', async () => {
    const { made, texts } = world()
    const asked = { query: { dryRun: 'true' }, body: { document: '{"mcpServers":{}}' } }
    const { body } = await ask(made.deps, 'POST', '/api/servers/import', asked)
    expect(brief(body)).toEqual(['time exists', 'notes new', 'Notes exists', 'bad invalid', 'odd invalid'])
    expect(of(body).entries[0].ref).toBe('ada~time')
    expect(of(body).entries[3]).toMatchObject({ pointer: '#/command', error: { code: 'validation_failed' } })
    expect(of(body).entries[4]).toMatchObject({ pointer: '#/mcpServers/odd', error: { detail: 'no command' } })
    expect(made.servers).toHaveLength(1)
    expect(made.audit).toEqual([])
    expect(texts).toEqual(['{"mcpServers":{}}'])
  })

  test('creates what is new and leaves the rest as it is', async () => {
    const { made } = world()
    const { body } = await ask(made.deps, 'POST', '/api/servers/import', { body: { document: 'x' } })
    expect(brief(body)).toEqual(['time exists', 'notes created', 'Notes created', 'bad invalid', 'odd invalid'])
    expect(made.servers.map(server => server.name)).toEqual(['time', 'notes', 'Notes'])
    expect(made.audit.map(entry => `${entry.action} ${entry.target}`)).toEqual([
      'server.create ada~notes',
      'server.create ada~Notes',
    ])
  })

  test('does not take a failing store for a free name', async () => {
    const { made } = world()
    made.deps.registry.servers.resolve = () => Promise.reject(new Error('disk'))
    const asked = { query: { dryRun: 'true' }, body: { document: 'x' } }
    await expect(ask(made.deps, 'POST', '/api/servers/import', asked)).rejects.toThrow('disk')
  })
})

test('documentOf() takes a text, an object in the envelope, or the whole body', () => {
  expect(documentOf({ document: 'npx -y x' })).toBe('npx -y x')
  expect(documentOf({ document: { mcpServers: {} } })).toEqual({ mcpServers: {} })
  expect(documentOf({ mcpServers: {} })).toEqual({ mcpServers: {} })
  expect(documentOf({ document: 'x', mcpServers: {} })).toEqual({ document: 'x', mcpServers: {} })
})

test('firstOfEachName() lets a later entry of a name exist already, letter case and width aside', () => {
  const verdicts = ['x', 'X', 'ｘ', 'y'].map(name => ({ name, verdict: 'new' as const }))
  expect(firstOfEachName(verdicts).map(each => each.verdict)).toEqual(['new', 'exists', 'exists', 'new'])
})

test('a trial goes by the configuration alone, under a name that nobody has', async () => {
  const { made } = world()
  const trials: object[] = []
  made.deps.upstreams.trial = async server => {
    trials.push(server)
    return { ok: true, steps: [], tools: [], warnings: [] }
  }
  const asked = { body: { name: 'time', command: 'uvx' } }
  const { body, status } = await ask(made.deps, 'POST', '/api/servers/test', asked)
  expect(status).toBe(200)
  expect(of(body).ok).toBe(true)
  expect(trials).toMatchObject([{ ownerId: 'u-ada', transport: 'stdio', timeoutMs: 60_000 }])
})
