/** A bundle that several users have stays with each of them, and the time that it takes does not reveal the others. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MANIFEST, sendBundle } from '../../support/bundle.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { mainThreadMs } from '../../support/work.ts'
import { zipOf } from '../../support/zip.ts'

const PAIRS = 3
const BUNDLE_BYTES = 4 * 1024 * 1024

let hub: Hub
let ada: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  ada = await hub.user('ada')
  bob = await hub.user('bob')
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function bundle(): Buffer {
  return zipOf([
    { name: 'manifest.json', content: JSON.stringify(MANIFEST) },
    { name: 'padding', content: randomBytes(BUNDLE_BYTES), method: 0 },
  ])
}

interface Work {
  /** Bytes that the main thread has written; another one brings the database's log into its file, at any time. */
  readonly bytes: number
  /** Processor time of the main thread, which varies too much to be compared in few rounds. */
  readonly ms: number
}

async function workOf(client: Client, content: Buffer): Promise<Work> {
  const written = () => {
    const [, bytes] = /^wchar: (\d+)$/m.exec(readFileSync(`/proc/${hub.pid}/task/${hub.pid}/io`, 'utf8')) ?? []
    return Number(bytes)
  }
  const before = { bytes: written(), ms: mainThreadMs(hub.pid) }
  expect((await sendBundle(client, content)).status).toBe(201)
  return { bytes: written() - before.bytes, ms: mainThreadMs(hub.pid) - before.ms }
}

test('a bundle that one user removes stays with the others, and its file goes with the last of them', async () => {
  const content = bundle()
  for (const client of [ada, bob]) expect((await sendBundle(client, content)).status).toBe(201)
  const [{ bundleId }] = (await ada.ok('GET', '/api/bundles')).items
  const stored = () => {
    const store = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
    const counts = ['files', 'parts'].map(
      table => store.query(`SELECT count(*) AS count FROM plugin_bundles__${table}`).get() as { count: number },
    )
    store.close()
    return counts.map(({ count }) => count)
  }
  const [files, parts] = stored()
  await ada.ok('DELETE', `/api/bundles/${bundleId}`)
  expect([files, stored(), (await bob.ok('GET', `/api/bundles/${bundleId}`)).bytes]).toEqual([
    ...[1, [1, parts], content.length],
  ])
  await bob.ok('DELETE', `/api/bundles/${bundleId}`)
  expect(stored()).toEqual([0, 0])
})

test('a bundle that somebody else has is written as a whole again, with as much work', async () => {
  const [known, fresh]: [Work[], Work[]] = [[], []]
  for (let at = 0; at < PAIRS; at += 1) {
    const content = bundle()
    await workOf(ada, content)
    // In turns, so that what else runs on the machine slows both.
    const both = [
      async () => known.push(await workOf(bob, content)),
      async () => fresh.push(await workOf(bob, bundle())),
    ]
    for (const send of at % 2 === 0 ? both : both.reverse()) await send()
    for (const client of [ada, bob])
      for (const { bundleId } of (await client.ok('GET', '/api/bundles')).items)
        await client.ok('DELETE', `/api/bundles/${bundleId}`)
  }
  // The hub's other writes only add to a round, so that the smallest is the nearest.
  const of = (works: readonly Work[], what: keyof Work) => Math.min(...works.map(work => work[what]))
  const shown = [known, fresh].map(works => `${of(works, 'bytes')} bytes, ${of(works, 'ms').toFixed(1)} ms`)
  console.log(`known: ${shown[0]}; new: ${shown[1]}`)
  for (const works of [known, fresh]) expect(of(works, 'bytes')).toBeGreaterThan(BUNDLE_BYTES)
  // A bundle that was not written, or written twice, makes a difference of its whole size.
  expect(Math.abs(of(known, 'bytes') - of(fresh, 'bytes'))).toBeLessThan(BUNDLE_BYTES / 4)
}, 60_000)
