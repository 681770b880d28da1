import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Answer } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type KeptState, keptState } from '../support/kept-state.ts'

/** One input that must be refused (or taken) in one documented way. */
export interface Row {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  readonly code?: string
  /** `code pointer` of each wrong field, in any order. */
  readonly fields?: readonly string[]
  /** A part of what the answer says to people. */
  readonly says?: string
}

type Target = readonly [method: string, path: string]

/** A body, or a query, and every field that is wrong with it. */
export function wrong([method, path]: Target, what: string, body: object | undefined, ...fields: string[]): Row {
  return { what, method, path, body, status: 400, code: 'validation_failed', fields }
}

/** A request and its answer's status, and code where it is a refusal. */
export function answered(
  [method, path]: Target,
  what: string,
  body: object | undefined,
  status: number,
  code?: string,
): Row {
  return { what, method, path, body, status, ...(code === undefined ? {} : { code }) }
}

/** Longer than any text that a field takes. */
export const LONG = 'x'.repeat(10_000)

/** A hub with three people; alice and bob own servers and groups, all of them switched off. */
interface Town {
  readonly hub: Hub
  readonly admin: Client
  readonly alice: Client
  readonly bob: Client
}

export const UPSTREAM = 'https://mcp.example/mcp'

async function openTown(): Promise<Town> {
  const hub = await startHub({ env: { STDIO_POLICY: 'admin' } })
  const admin = await hub.setup()
  const alice = await hub.user('alice')
  const bob = await hub.user('bob')
  const remote = { url: UPSTREAM, enabled: false }
  await alice.ok('POST', '/api/servers', { ...remote, name: 'own', headers: { 'x-kept': 'plain' } })
  await alice.ok('POST', '/api/servers', { ...remote, name: 'second' })
  await alice.ok('POST', '/api/groups', { name: 'own', members: ['own'] })
  await bob.ok('POST', '/api/servers', { ...remote, name: 'hidden' })
  await bob.ok('POST', '/api/servers', { ...remote, name: 'open', visibility: 'public' })
  await bob.ok('POST', '/api/groups', { name: 'open', visibility: 'public', members: ['open'] })
  return { hub, admin, alice, bob }
}

/** Rows about one thing, which one of the town's people asks. */
export interface Table {
  readonly about: string
  readonly caller: 'admin' | 'alice' | 'bob'
  readonly rows: readonly Row[]
}

export function tableOf(about: string, caller: Table['caller'], rows: readonly Row[]): Table {
  return { about, caller, rows }
}

/**
 * Opens a town and makes one test of each row. After each table, and before each row that changes something, it checks that
 * refusals left nothing behind and that the hub is the same and healthy; in a whole run after each row.
 */
export function testsOfTown(tables: readonly Table[]): void {
  let town: Town
  let before: KeptState | undefined
  const settle = async () => {
    if (before) expect(keptState(town.hub)).toEqual(before)
    before = undefined
    await expectWell(town.hub)
  }
  beforeAll(async () => {
    town = await openTown()
  }, 120_000)
  afterAll(() => town?.hub.stop(), 120_000)
  for (const { about, caller, rows } of tables) {
    describe(about, () => {
      test.each(rows.map(row => [titleOf(row), row] as const))('%s', async (_title, row) => {
        if (row.status < 400) await settle()
        else before ??= keptState(town.hub)
        await holds(town[caller], row)
        if (extent(false, true)) await settle()
      })

      test('of what was refused nothing is kept, and the hub is well', settle)
    })
  }
}

/** `input → 400 code field`, as the name of a test. */
function titleOf({ what, status, code, fields = [] }: Row): string {
  return `${what} → ${[status, code, ...fields].filter(part => part !== undefined).join(' ')}`
}

/** Makes the request of a row, and checks its answer. */
async function holds(caller: Client, row: Row): Promise<void> {
  const answer = await patient(() => caller.request(row.method, row.path, row.body, { ...row.headers }))
  const seen = answer.text === '' || !answer.text.startsWith('{') ? {} : answer.json
  const fields = (seen.errors ?? []).map((error: { code: string; pointer: string }) => `${error.code} ${error.pointer}`)
  expect({
    status: answer.status,
    ...(row.code === undefined ? {} : { code: seen.code }),
    ...(row.fields === undefined ? {} : { fields: fields.sort() }),
    ...(row.says === undefined ? {} : { says: saying(answer.text, row.says) }),
  }).toEqual({
    status: row.status,
    ...(row.code === undefined ? {} : { code: row.code }),
    ...(row.fields === undefined ? {} : { fields: [...row.fields].sort() }),
    ...(row.says === undefined ? {} : { says: row.says }),
  })
  if (answer.status >= 400) expectProblem(answer, row)
}

function saying(text: string, wanted: string): string {
  return text.includes(wanted) ? wanted : text
}

/** Checks the form of a refusal outside `/mcp`. */
export function expectProblem(
  answer: Answer,
  { method, path }: { readonly method: string; readonly path: string },
): void {
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expectHardened(answer)
  const id = answer.headers.get('x-request-id')
  if (method !== 'HEAD') {
    expect(answer.json).toMatchObject({
      type: `/errors/${answer.json.code}`,
      title: expect.any(String),
      status: answer.status,
      detail: expect.any(String),
      instance: path.split('?')[0]?.slice(0, 512),
      requestId: id,
    })
  }
  if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
  if (answer.status === 405) expect(answer.headers.get('allow')).toBeTruthy()
  if (answer.status === 415) expect(answer.headers.get('accept')).toBe('application/json')
  // A server that is offline names a time only while an attempt is planned.
  const planned = answer.json?.code !== 'server_offline' || answer.headers.has('retry-after')
  if ((answer.status === 429 || answer.status === 503) && planned) {
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
}

/** Checks the form of a refusal by a route of OAuth (RFC 6749, section 5.2). */
export function expectOAuthRefusal(answer: Answer): void {
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expectHardened(answer)
  expect(Object.keys(answer.json).sort()).toEqual(['error', 'error_description'])
  expect(answer.json).toMatchObject({ error: expect.any(String), error_description: expect.any(String) })
}

/** Checks the headers of every answer, including refusals, pages and MCP. */
export function expectHardened(answer: Pick<Answer, 'headers'>): void {
  const { headers } = answer
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(headers.get('x-request-id')).toBeTruthy()
  expect(headers.get('access-control-allow-origin')).toBeNull()
  expect(headers.get('set-cookie')).toBeNull()
}

/** Checks that the hub's process still lives, and that `/health` reports `ok`. */
export async function expectWell(hub: Hub): Promise<void> {
  process.kill(hub.pid, 0)
  const health = await fetch(`${hub.url}/health`)
  expect([health.status, (await health.json()).status]).toEqual([200, 'ok'])
}

/** The limits of requests hold for the suite too: it repeats a request after the time in `Retry-After`. */
export async function patient(request: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await request()
    // An answer to HEAD says no code.
    if (answer.status !== 429 || (answer.text !== '' && answer.json.code !== 'rate_limited')) return answer
    await Bun.sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}
