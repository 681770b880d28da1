import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Hub, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { openBrowser, openTab } from './support/console.ts'

const DIST = join(import.meta.dir, '../../ui/dist')
const KB = 1000
/** Compressed by gzip. */
const MOST = { entry: 130 * KB, style: 20 * KB, chunk: 40 * KB, editor: 150 * KB, script: 350 * KB }

interface Manifest {
  readonly entry: string
  readonly preload: readonly string[]
  readonly style: string
  readonly sprite: string
}

const manifest = JSON.parse(readFileSync(join(DIST, 'manifest.json'), 'utf8')) as Manifest
const zipped = (path: string): number => statSync(join(DIST, `${path}.gz`)).size

test('what is loaded before the first page fits its budget', () => {
  const entry = [manifest.entry, ...manifest.preload].reduce((sum, path) => sum + zipped(path), 0)
  console.log(`entry ${entry}, style ${zipped(manifest.style)}, sprite ${zipped(manifest.sprite)} bytes`)
  expect(entry).toBeLessThanOrEqual(MOST.entry)
  expect(zipped(manifest.style)).toBeLessThanOrEqual(MOST.style)
})

test('no chunk of a page is larger than its budget; the editor of JSON has its own', () => {
  const early = new Set([manifest.entry, ...manifest.preload])
  const chunks = readdirSync(join(DIST, 'assets'))
    .filter(name => name.endsWith('.js') && !early.has(`assets/${name}`))
    .map(name => ({ name, bytes: zipped(`assets/${name}`), text: readFileSync(join(DIST, 'assets', name), 'utf8') }))
  const isEditor = (text: string): boolean => text.includes('cm-editor')
  const over = chunks
    .filter(({ bytes, text }) => bytes > (isEditor(text) ? MOST.editor : MOST.chunk))
    .map(({ name, bytes }) => `${name}: ${bytes}`)
  console.log(
    `largest chunks: ${chunks
      .map(({ bytes }) => bytes)
      .sort((a, b) => b - a)
      .slice(0, 5)
      .join(', ')} bytes`,
  )
  expect(over).toEqual([])
})

test('the library is not its development build', () => {
  const texts = readdirSync(join(DIST, 'assets'))
    .filter(name => name.endsWith('.js'))
    .map(name => readFileSync(join(DIST, 'assets', name), 'utf8'))
  expect(texts.some(text => text.includes('Lit is in dev mode'))).toBe(false)
})

let browser: Browser
let hub: Hub

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub()
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

test('the first paint with an empty cache comes within 500 ms, median of three', async () => {
  const admin = await hub.setup()
  const paints: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const tab = await openTab(browser, hub, admin, { emptyCache: true })
    await tab.open('/')
    paints.push(
      await tab.page.evaluate(
        () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
      ),
    )
    await tab.close()
  }
  console.log(`first contentful paint: ${paints.map(Math.round).join(', ')} ms`)
  expect(paints.sort((a, b) => a - b)[1] ?? Number.POSITIVE_INFINITY).toBeLessThan(atMost(500))
})
