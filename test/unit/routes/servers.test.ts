import { describe, expect, test } from 'bun:test'
import { lastLines, waitOf } from '../../../core/http/routes/servers/server-control.ts'
import { ask, bob, groupRecord, of, serverRecord, World } from './doubles.ts'

function world() {
  const made = new World()
  made.servers = [serverRecord(), serverRecord({ id: 's-2', name: 'notes', transport: 'sse' })]
  made.states.set('s-2', 'offline')
  return made
}

describe('GET /api/servers', () => {
  const names = (body: unknown) => of(body).items.map((item: { name: string }) => item.name)

  test('hands the filters of the registry on and asks for the caller’s own by default', async () => {
    const made = world()
    await ask(made.deps, 'GET', '/api/servers', { query: { q: 'ti', sort: '-name' } })
    expect(made.deeds).toEqual(['list {"scope":"mine","q":"ti","sort":"-name"}'])
  })

  test('filters by live state and cuts the page after that', async () => {
    const { body } = await ask(world().deps, 'GET', '/api/servers', { query: { state: 'offline', limit: '1' } })
    expect(names(body)).toEqual(['notes'])
    expect(of(body)).toMatchObject({ total: 1, limit: 1, offset: 0 })
  })

  test('filters by the members of a group, public ones of others among them', async () => {
    const made = world()
    made.groups = [groupRecord({ members: groupRecord().members.slice(1) })]
    const { body } = await ask(made.deps, 'GET', '/api/servers', { query: { group: 'daily' } })
    expect(names(body)).toEqual(['notes'])
    expect(made.deeds).toEqual(['list {"scope":"visible"}'])
    await expect(ask(made.deps, 'GET', '/api/servers', { query: { group: 'nope' } })).rejects.toMatchObject({
      code: 'group_not_found',
    })
  })

  test.each([
    { limit: '0' },
    { limit: '1001' },
    { limit: 'abc' },
    { offset: '-1' },
    { state: 'up' },
    { sort: 'up' },
    { x: '1' },
  ])('refuses %p', async query => {
    await expect(ask(world().deps, 'GET', '/api/servers', { query })).rejects.toThrow()
  })
})

describe('one server', () => {
  const params = { ref: 'time' }

  test('is created with 201, its place, its entity tag and an audit entry', async () => {
    const made = new World()
    const reply = await ask(made.deps, 'POST', '/api/servers', { body: { name: 'my time', command: 'uvx' } })
    expect(reply.status).toBe(201)
    expect(reply.headers).toEqual({ etag: '"1"', location: 'http://hub.test/base/api/servers/ada~my%20time' })
    expect(of(reply.body).status.state).toBe('online')
    expect(made.audit).toMatchObject([
      { action: 'server.create', target: 'ada~my time', request: { requestId: 'r-1' } },
    ])
  })

  test('is answered with its entity tag to the owner, and without to who only sees it', async () => {
    const made = world()
    const own = await ask(made.deps, 'GET', '/api/servers/{ref}', { params })
    expect(own.headers).toEqual({ etag: '"3"' })
    made.servers = [serverRecord({ visibility: 'public' })]
    const seen = await ask(made.deps, 'GET', '/api/servers/{ref}', { actor: bob, params: { ref: 'ada~time' } })
    expect(seen.headers).toEqual({})
  })

  test('is deleted by its full name with 204', async () => {
    const made = world()
    const reply = await ask(made.deps, 'DELETE', '/api/servers/{ref}', { params })
    expect(reply.status).toBe(204)
    expect(made.deeds).toEqual(['remove ada~time'])
  })

  test('a batch answers 201 when all were created, and 207 with each outcome otherwise', async () => {
    const made = new World()
    const good = await ask(made.deps, 'POST', '/api/servers/batch', { body: { servers: [{ name: 'a' }] } })
    expect(good.status).toBe(201)
    const mixed = await ask(made.deps, 'POST', '/api/servers/batch', {
      body: { servers: [{ name: 'b' }, { name: 'bad' }, { name: 'b' }] },
    })
    expect(mixed.status).toBe(207)
    const results = of(mixed.body).results.map(
      (each: { status: number; error?: { code: string } }) => each.error?.code ?? each.status,
    )
    expect(results).toEqual([201, 'validation_failed', 'server_name_taken'])
  })
})

describe('start, stop, restart, refresh', () => {
  const control = async (verb: string, enabled: boolean, query = {}) => {
    const made = new World()
    made.servers = [serverRecord({ enabled })]
    const reply = await ask(made.deps, 'POST', `/api/servers/{ref}/${verb}`, { params: { ref: 'time' }, query })
    expect(reply.status).toBe(202)
    expect(made.audit).toMatchObject([{ action: `server.${verb}` }])
    return made.deeds
  }

  test('start switches a server on, which is where the right to run it is asked, also for one that is on', async () => {
    expect(await control('start', false)).toEqual(['enabled true', 'start s-1'])
    expect(await control('start', true)).toEqual(['enabled true', 'start s-1'])
  })

  test('stop switches off for good', async () => {
    expect(await control('stop', true)).toEqual(['enabled false', 'stop s-1'])
    expect(await control('stop', false)).toEqual(['enabled false', 'stop s-1'])
  })

  test('restart closes and connects; for a server that is off it is a start', async () => {
    expect(await control('restart', true)).toEqual(['enabled true', 'restart s-1'])
    expect(await control('restart', false)).toEqual(['enabled true', 'start s-1'])
  })

  test('refresh reads again, and is refused for a server that is off', async () => {
    expect(await control('refresh', true)).toEqual(['refresh s-1'])
    await expect(control('refresh', false)).rejects.toMatchObject({ code: 'server_offline' })
  })

  test('wait holds the answer for the outcome', async () => {
    expect(await control('start', true, { wait: '10s' })).toEqual(['enabled true', 'start s-1', 'settled s-1 10000'])
  })

  test('is checked before anything is done when the wait is wrong', async () => {
    const made = world()
    const asked = { params: { ref: 'time' }, query: { wait: 'soon' } }
    await expect(ask(made.deps, 'POST', '/api/servers/{ref}/stop', asked)).rejects.toMatchObject({
      code: 'validation_failed',
    })
    expect(made.deeds).toEqual([])
  })

  test('is the owner’s alone', async () => {
    const made = world()
    made.servers = [serverRecord({ visibility: 'public' })]
    const asked = { actor: bob, params: { ref: 'ada~time' } }
    await expect(ask(made.deps, 'POST', '/api/servers/{ref}/stop', asked)).rejects.toMatchObject({ code: 'not_owner' })
    await expect(ask(made.deps, 'GET', '/api/servers/{ref}/logs', asked)).rejects.toMatchObject({ code: 'not_owner' })
  })
})

test('waitOf() reads durations up to a minute', () => {
  expect(waitOf(undefined)).toBe(0)
  expect(waitOf('1500ms')).toBe(1_500)
  expect(waitOf('60s')).toBe(60_000)
  const refused = (code: string) =>
    expect.objectContaining({ errors: [expect.objectContaining({ pointer: '?wait', code })] })
  expect(() => waitOf('2m')).toThrow(refused('range'))
  expect(() => waitOf('-1s')).toThrow(refused('duration'))
})

test('lastLines() gives the end of a log in the order of time', () => {
  const cut = (limit: number, offset: number) => lastLines([1, 2, 3, 4, 5], { limit, offset }).items
  expect(cut(2, 0)).toEqual([4, 5])
  expect(cut(2, 2)).toEqual([2, 3])
  expect(cut(10, 0)).toEqual([1, 2, 3, 4, 5])
})
