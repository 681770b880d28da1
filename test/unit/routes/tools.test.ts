import { describe, expect, test } from 'bun:test'
import { definitionHash } from '../../../core/domain/tools/tool-definition.ts'
import { findTool, ownedTool, serverTools, tokensOf, viewedTool } from '../../../core/http/routes/tool-views.ts'
import { ask, bob, catalog, of, serverRecord, World } from './doubles.ts'

const lists = catalog(
  { name: 'now', description: 'Own', inputSchema: { type: 'object' } },
  { name: 'constructor' },
  { name: 'a/b' },
  { description: 'nameless' },
)
const live = {
  catalog: () => lists,
  definitions: () => new Map([['a/b', { hash: 'x', changed: true, approved: 'y' }]]),
}
const tools = serverTools({ id: 's', tools: { now: { name: 'time_now', enabled: false } } }, live)

describe('serverTools()', () => {
  test('puts the override over the definition and keeps the original beside it', () => {
    expect(tools[0]).toMatchObject({ original: 'now', name: 'time_now', enabled: false, overridden: true })
    expect(tools[0]?.exposed).toEqual({ name: 'time_now', description: 'Own', inputSchema: { type: 'object' } })
  })

  test('leaves out what has no name, and takes no inherited member for an override', () => {
    expect(tools.map(tool => tool.original)).toEqual(['now', 'constructor', 'a/b'])
    expect(tools[1]).toMatchObject({ enabled: true, overridden: false })
  })
})

test('findTool() finds by the exposed name, by the original, and by a shape that a path can carry', () => {
  for (const name of ['time_now', 'now']) expect(findTool('s', tools, name).original).toBe('now')
  expect(findTool('s', tools, 'a_b').original).toBe('a/b')
})

test('findTool() refuses an unknown name with the nearest enabled one', () => {
  expect(() => findTool('s', tools, 'constuctor')).toThrow(
    expect.objectContaining({ code: 'tool_not_found', hint: 'Did you mean "constructor"?' }),
  )
  expect(() => findTool('s', tools, 'time_nov')).toThrow(expect.objectContaining({ hint: undefined }))
})

test('definitionHash() does not depend on the order of members, and does on everything else', () => {
  const hash = definitionHash({ name: 'x', inputSchema: { a: [1, 2], b: null } })
  expect(definitionHash({ inputSchema: { b: null, a: [1, 2] }, name: 'x' })).toBe(hash)
  expect(definitionHash({ name: 'x', inputSchema: { a: [2, 1], b: null } })).not.toBe(hash)
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
})

test('tokensOf() is a quarter of the characters, rounded up', () => {
  expect(tokensOf({ a: 'b' })).toBe(3)
})

test('viewedTool() shows no trace of a rename, and ownedTool() all of it', () => {
  const tool = tools[0]
  if (!tool) throw new Error('no tool')
  expect(JSON.stringify(viewedTool(tool))).not.toContain('"now"')
  expect(ownedTool(tool)).toMatchObject({ original: 'now', enabled: false, hash: definitionHash(tool.definition) })
})

describe('the tools of a server over REST', () => {
  function world(visibility: 'public' | 'private' = 'public') {
    const made = new World()
    made.servers = [serverRecord({ visibility, tools: { now: { enabled: false } } })]
    made.catalogs.set('s-1', lists)
    return made
  }

  test('are all there for the owner, with what a server offline last said', async () => {
    const made = world()
    made.states.set('s-1', 'offline')
    const { body } = await ask(made.deps, 'GET', '/api/servers/{ref}/tools', { params: { ref: 'time' } })
    expect(of(body)).toMatchObject({ total: 3, live: false, readAt: lists.readAt })
    expect(of(body).items[0]).toMatchObject({ name: 'now', enabled: false })
  })

  test('leave out for others what is switched off', async () => {
    const { body } = await ask(world().deps, 'GET', '/api/servers/{ref}/tools', {
      actor: bob,
      params: { ref: 'ada~time' },
    })
    expect(of(body).items.map((item: { name: string }) => item.name)).toEqual(['constructor', 'a/b'])
  })

  test('are an empty page when the server was never online', async () => {
    const made = world()
    made.catalogs.clear()
    const { body } = await ask(made.deps, 'GET', '/api/servers/{ref}/tools', { params: { ref: 'time' } })
    expect(of(body)).toMatchObject({ items: [], total: 0, readAt: null })
  })

  test('are changed under their original name, whatever name the path has', async () => {
    const made = world()
    made.servers = [serverRecord({ tools: { now: { name: 'time_now' } } })]
    const asked = {
      params: { ref: 'time', tool: 'time_now' },
      body: { enabled: false, name: null },
      headers: { 'if-match': '"3"' },
    }
    const { body, headers } = await ask(made.deps, 'PATCH', '/api/servers/{ref}/tools/{tool}', asked)
    expect(made.deeds).toEqual(['patch {"tools":{"now":{"enabled":false,"name":null}}} {"ifRevision":3}'])
    expect(headers).toEqual({ etag: '"4"' })
    expect(of(body)).toMatchObject({ original: 'now', enabled: false })
    expect(made.audit).toMatchObject([{ action: 'server.update', target: 'ada~time', request: { requestId: 'r-1' } }])
  })

  test('cannot be changed when there is no such tool', async () => {
    const asked = { params: { ref: 'time', tool: 'nope' }, body: { enabled: false } }
    const change = ask(world().deps, 'PATCH', '/api/servers/{ref}/tools/{tool}', asked)
    await expect(change).rejects.toMatchObject({ code: 'tool_not_found' })
  })
})
