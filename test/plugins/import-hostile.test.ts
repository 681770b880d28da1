/**
 * Files that attack the importers: every route answers a stable code, writes nothing and delays nobody, and the memory stays
 * small.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { aliases, codex, goose, INVALID, inMap, READ, REFUSED, URL_MEMBER } from '../support/hostile-files.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { processStat } from '../support/processes.ts'
import { timed } from '../support/wait.ts'
import { patchbay } from '../unit/cli/running-hub.ts'

/** Longest wait of others for an answer while a file is read. */
const HEALTH_MS = 150
/** Most that refused files may add to the memory of the hub while they are read. */
const GROWN_BYTES = 200 * 2 ** 20

/** The large files, one for each reader; the small ones cost little and are all read. */
const LARGE = new Set(['yaml: brackets', 'toml: a long dotted key', 'json: a hundred thousand servers'])
const isSmall = (document: unknown): boolean => JSON.stringify(document).length < 20_000
const REFUSED_HERE = extent(
  REFUSED.filter(([what, document]) => LARGE.has(what) || isSmall(document)),
  REFUSED,
)

let hub: Hub
let admin: Client
let watch: Watch

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  // Loads what imports need.
  const first = { document: { mcpServers: { a: { url: 'https://a.example' } } } }
  await admin.ok('POST', '/api/import?dryRun=true', first)
  await admin.ok('POST', '/api/servers/import?dryRun=true', first)
  for (const document of [codex('command = "x"\n'.padEnd(8_000)), goose('    type: builtin\n'.padEnd(8_000))])
    await admin.ok('POST', '/api/import?dryRun=true', { document })
  watch = new Watch()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

interface Measured<T> {
  readonly value: T
  readonly longestMs: number
  readonly grown: number
}

/** Asks for /health all the time, and looks at the memory of the hub. */
class Watch {
  /** Runs `work`. Measures the longest wait in milliseconds, and the largest growth of the hub in bytes meanwhile. */
  async #once<T>(work: () => Promise<T>): Promise<Measured<T>> {
    const before = residentBytes()
    let done = false
    let longestMs = 0
    let grown = 0
    const asking = (async () => {
      while (!done) {
        const { ms, value } = await timed(() => send(hub.url, 'GET', '/health'))
        expect(value.status).toBe(200)
        longestMs = Math.max(longestMs, ms)
        grown = Math.max(grown, residentBytes() - before)
        await Bun.sleep(25)
      }
    })()
    try {
      const value = await work()
      return { value, longestMs, grown }
    } finally {
      done = true
      await asking
    }
  }

  /** The same, repeated if others had to wait: other programs of this machine make them wait too, but not each time. */
  async during<T>(work: () => Promise<T>): Promise<Measured<T>> {
    let measured = await this.#once(work)
    for (let more = 2; more > 0 && measured.longestMs > atMost(HEALTH_MS); more -= 1) measured = await this.#once(work)
    return measured
  }
}

function residentBytes(): number {
  return processStat(hub.pid)?.residentBytes ?? 0
}

interface Plan {
  readonly planHash: string
  readonly items: readonly {
    readonly name: string
    readonly verdict: string
    readonly body?: object
    readonly error?: object
  }[]
}

async function state(): Promise<unknown> {
  const paths = ['/api/servers?scope=all', '/api/groups?scope=all', '/api/keys', '/api/admin/users', '/api/import']
  // Sessions and things that the test itself made stay the same.
  return Promise.all(
    paths.map(async path =>
      (await admin.ok('GET', path)).items.map(({ name, id }: { name?: string; id: string }) => name ?? id),
    ),
  )
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 300) ?? 'nothing'

test('refused files get a code and a reason by every route, and nothing is written', async () => {
  const before = await state()
  const slow: unknown[] = []
  const large: unknown[] = []
  const said: unknown[] = []
  for (const [what, document, words] of REFUSED_HERE) {
    const { value, longestMs, grown } = await watch.during(async () => {
      const plan = await admin.request('POST', '/api/import?dryRun=true', { document })
      const made = await admin.request('POST', '/api/servers/import', { document })
      return { plan, made }
    })
    if (longestMs > atMost(HEALTH_MS)) slow.push([what, longestMs])
    if (grown > GROWN_BYTES) large.push([what, grown])
    if (!isRefused(value.plan, words)) said.push([what, value.plan.status, show(value.plan.json)])
    const { status, json } = value.made
    const isCoded = status === 400 ? typeof json.code === 'string' && json.code !== '' : made(json) === 0
    if (!isCoded) said.push([what, status, show(json)])
  }
  expect(said).toEqual([])
  expect(slow).toEqual([])
  expect(await state()).toEqual(before)
  expect(large).toEqual([])
}, 300_000)

/** Some texts could be a command line, which is then invalid. */
function isRefused(
  {
    status,
    json,
  }: { status: number; json: { code?: string; detail?: string; errors?: { detail: string }[] } & Partial<Plan> },
  words: RegExp,
): boolean {
  if (status === 200) return json.items?.every(({ verdict }) => verdict === 'invalid') === true && words.source === '.'
  const said = json.code === 'json_too_large' ? json.detail : json.errors?.[0]?.detail
  return status === 400 && /^(?:validation_failed|json_too_large)$/.test(json.code ?? '') && words.test(said ?? '')
}

function made({ entries }: { entries: readonly { verdict: string }[] }): number {
  return entries.filter(({ verdict }) => verdict !== 'invalid').length
}

test('files whose servers are invalid make nothing, and each server says why', async () => {
  const before = await state()
  const wrong: unknown[] = []
  for (const [what, document] of INVALID) {
    const { value: plan, longestMs } = await watch.during(() =>
      admin.request('POST', '/api/import?dryRun=true', { document }),
    )
    if (longestMs > atMost(HEALTH_MS)) wrong.push([what, longestMs])
    const { items = [], planHash } = plan.json as Plan
    const isInvalid = items.every(({ verdict, error }) => verdict === 'invalid' && error)
    if (plan.status !== 200 || !isInvalid) wrong.push([what, plan.status, show(plan.json)])
    if (plan.status !== 200) continue
    const done = await admin.request('POST', '/api/import', { document, planHash })
    if (done.status !== 200) wrong.push([what, done.status, show(done.json)])
    else await admin.ok('POST', `/api/import/${done.json.id}/rollback`)
    const direct = await admin.request('POST', '/api/servers/import', { document })
    if (direct.status === 200 ? made(direct.json) > 0 : direct.json.code !== 'validation_failed')
      wrong.push([what, show(direct.json)])
  }
  expect(wrong).toEqual([])
  expect(await state()).toEqual(before)
}, 120_000)

test.each(READ)('%s: read all the same', async (_what, document, bodies) => {
  const plan: Plan = await admin.ok('POST', '/api/import?dryRun=true', { document })
  const valid = plan.items.filter(({ verdict }) => verdict === 'new')
  expect(Object.fromEntries(valid.map(({ name, body }) => [name, body]))).toMatchObject(bodies)
  expect(valid.map(({ name }) => name)).toEqual(Object.keys(bodies))
})

test('names that are one name in other letter case or another Unicode form are made once', async () => {
  const names = ['Straße', 'STRASSE', 'strasse', 'e\u0301t', '\u00e9t', 'ﬁle', 'file']
  const servers = Object.fromEntries(names.map(name => [name, { command: 'x' }]))
  const documents = [
    { mcpServers: servers },
    { context_servers: servers },
    names.map(name => `[mcp_servers."${name}"]\ncommand = "x"`).join('\n'),
    `extensions:\n${names.map(name => `  "${name}": {type: stdio, cmd: x}`).join('\n')}`,
  ]
  for (const document of documents) {
    const plan: Plan = await admin.ok('POST', '/api/import?dryRun=true', { document })
    const made = plan.items.filter(({ verdict }) => verdict === 'new').map(({ name }) => name)
    expect([show(document).slice(0, 20), new Set(made.map(name => name.normalize('NFKC').toUpperCase())).size]).toEqual(
      [show(document).slice(0, 20), made.length],
    )
  }
})

beyondCore(() => {
  test('the command line reads UTF-16 with its mark, refuses other bytes, and sends what it reads as the API takes it', async () => {
    const run = async (name: string, bytes: string | Uint8Array, ...more: string[]) => {
      await writeFile(join(hub.folder, name), bytes)
      return patchbay(['import', name, '--dry-run', ...more], { cwd: hub.folder, env: { DATA_DIR: hub.dataDir } })
    }
    const before = await state()
    const wide = Buffer.from(`\ufeff${inMap(`"wide": {${URL_MEMBER}}`)}`, 'utf16le')
    expect((await run('le.json', wide)).stdout).toMatch(/new +server +wide/)
    expect((await run('be.json', wide.swap16())).stdout).toMatch(/new +server +wide/)
    for (const bytes of [
      new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
      Buffer.from(inMap(`"wide": {${URL_MEMBER}}`), 'utf16le').subarray(1),
    ]) {
      const { code, stdout, stderr } = await run('odd.json', bytes)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/odd\.json.*(?:UTF-8|validation_failed|cannot|JSON)/s)
    }
    const bomb = await run('config.yaml', `extensions:\n${aliases(12)}\n`)
    expect([bomb.code, bomb.stderr]).toEqual([1, expect.stringMatching(/Goose.*more than 20000 values/)])
    for (const more of [[], ['--owner', 'admin']]) {
      const twice = await run('twice.json', inMap(`"a": {${URL_MEMBER}}, "a": {${URL_MEMBER}}`), ...more)
      expect([twice.code, twice.stderr]).toEqual([1, expect.stringMatching(/twice/)])
    }
    expect(await state()).toEqual(before)
  }, 120_000)
})
