import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import { problemPart } from '../../../core/http/routes/servers/problem-part.ts'
import { matchesFilter, page, serverView, writeOptions } from '../../../core/http/routes/views.ts'
import { ada, bob, catalog, of, root, serverRecord, status, World } from './doubles.ts'

const world = new World()
const shared = serverRecord({
  visibility: 'public',
  description: 'Tells the time',
  tools: { hidden: { enabled: false }, now: { name: 'time_now', description: 'Renamed' } },
})
world.catalogs.set('s-1', catalog({ name: 'now', description: 'Own' }, { name: 'hidden' }, { name: 'plain' }))

describe('serverView()', () => {
  test('gives the owner and administrators the whole record with its status', () => {
    for (const who of [ada, root]) {
      const view = of(serverView(world.deps, who, shared))
      expect(view).toMatchObject({ id: 's-1', ref: 'ada~time', owner: 'ada', command: 'uvx', revision: 3 })
      expect(view.status.pid).toBe(4711)
    }
  })

  test('gives others name, owner, description, transport, tools and a short status, and nothing more', () => {
    world.states.set('s-1', 'offline')
    const view = of(serverView(world.deps, bob, shared))
    world.states.clear()
    expect(Object.keys(view).sort()).toEqual(['description', 'name', 'owner', 'role', 'status', 'tools', 'transport'])
    expect(Object.keys(view.status).sort()).toEqual(['counts', 'since', 'state'])
    expect(JSON.stringify(view)).not.toContain('secret path')
  })

  test('leaves out and does not count tools that the owner switched off, and shows a renamed one by its new name', () => {
    const view = of(serverView(world.deps, bob, shared))
    expect(view.tools).toEqual([{ name: 'time_now', description: 'Renamed' }, { name: 'plain' }])
    expect(view.status.counts.tools).toBe(2)
  })

  test('takes a caller without a credential for one who only sees', () => {
    expect(of(serverView(world.deps, undefined, shared))).not.toHaveProperty('id')
  })
})

describe('writeOptions()', () => {
  const read = (value: string) => writeOptions(new Headers({ 'if-match': value }))

  test('reads the revision of an ETag as it was sent', () => {
    expect(read('"12"')).toEqual({ ifRevision: 12 })
  })

  test('takes any revision without the header, and with *', () => {
    expect(writeOptions(new Headers())).toEqual({})
    expect(read('*')).toEqual({})
  })

  test.each(['12', 'W/"12"', '"12", "13"', '""', '"-1"', '"x"', 'null'])('refuses %p as a conflict', value => {
    expect(() => read(value)).toThrow(expect.objectContaining({ code: 'version_conflict', status: 412 }))
  })
})

test('page() cuts the list and counts the whole of it', () => {
  expect(page([1, 2, 3, 4, 5], { limit: 2, offset: 3 })).toEqual({ items: [4, 5], total: 5, limit: 2, offset: 3 })
  expect(page([1], { limit: 10, offset: 5 })).toEqual({ items: [], total: 1, limit: 10, offset: 5 })
})

test('matchesFilter() wants every filter that is given to hold', () => {
  const record = serverRecord()
  const match = (filter: Parameters<typeof matchesFilter>[2]) => matchesFilter(record, () => status('online'), filter)
  expect(match({})).toBe(true)
  expect(match({ state: 'online', transport: 'stdio', members: new Set(['s-1']) })).toBe(true)
  expect(match({ state: 'offline' })).toBe(false)
  expect(match({ transport: 'sse' })).toBe(false)
  expect(match({ members: new Set(['s-2']) })).toBe(false)
})

test('problemPart() tells of a hub error all but its cause, and nothing of any other', () => {
  const errors = [{ pointer: '#/name', code: 'required', detail: 'name is required' }] as const
  const known = problemPart(
    new HubError('validation_failed', 'wrong', { errors, hint: 'do this', cause: new Error('x') }),
  )
  expect(known).toEqual({
    code: 'validation_failed',
    title: 'Some fields are not valid',
    status: 400,
    detail: 'wrong',
    hint: 'do this',
    errors,
  })
  expect(JSON.stringify(problemPart(new Error('password=hunter2')))).not.toContain('hunter2')
})
