/**
 * Measures the share of requests for which the smart group finds the right tool among the first five. The requests are those
 * of queries.tsv and of colloquial.tsv (everyday spoken Chinese, written before the words for it were). The tools are those
 * of the catalogue's npm servers and of servers.tsv (at least 1,690), which are installed for it. Ends with 1 when a share is
 * too small.
 *
 *   bun run recall                     installs into a new folder below the system's one for temporary files
 *   bun run recall --folder DIR        uses what is installed there already, and keeps it
 *   bun run recall --definitions FILE  reads the tools of this file, which is made when it is not there
 *   bun run recall --misses            names the requests whose tool was not found
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { JsonObject } from '../../core/contract/json.ts'
import { ToolIndex } from '../../plugins/smart-group/tool-index.ts'
import { Words } from '../../plugins/smart-group/words.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { readDefinitions } from './definitions.ts'

const FIRST = 5
/** Least number of hits in 100 requests: of all, in English, in Chinese, in spoken Chinese. */
const DEMANDED = { all: 90, en: 88, zh: 92, talk: 92 } as const
const LEAST_TOOLS = 1_690
const MOST_P95_MS = 20

const { values } = parseArgs({
  options: {
    ...{ folder: { type: 'string' }, definitions: { type: 'string' } },
    misses: { type: 'boolean', default: false },
  },
})
const stored = values.definitions === undefined ? undefined : Bun.file(values.definitions)
const servers: ReadonlyMap<string, readonly JsonObject[]> =
  stored && (await stored.exists()) ? new Map(await stored.json()) : await installed()

async function installed(): ReturnType<typeof readDefinitions> {
  const folder = values.folder ?? (await makeTemp('recall'))
  const found = await readDefinitions(folder)
  if (values.folder === undefined) await removeTemp(folder)
  if (values.definitions !== undefined) await Bun.write(values.definitions, JSON.stringify([...found]))
  return found
}

const tools = [...servers].flatMap(([server, list]) =>
  list.map(definition => ({ name: String(definition.name), server, definition: () => definition })),
)
const index = new ToolIndex(new Words(), () => performance.now())
const view = { key: 'all', tools }
const begun = performance.now()
await index.search(view, 'anything')
const buildMs = performance.now() - begun

const lists = ['queries.tsv', 'colloquial.tsv'].map(name => Bun.file(join(import.meta.dir, name)).text())
const rows = (await Promise.all(lists)).flatMap(text => text.trim().split('\n'))
const results: { readonly language: string; readonly found: boolean; readonly ms: number }[] = []
let unread = 0
for (const row of rows) {
  const [language = '', query = '', wanted = ''] = row.split('\t')
  const right = new Set(wanted.split(' '))
  // Its server could not be installed or read here.
  if (!tools.some(({ server, name }) => right.has(`${server}/${name}`))) {
    unread += 1
    continue
  }
  const since = performance.now()
  const first = (await index.search(view, query)).slice(0, FIRST).map(({ server, name }) => `${server}/${name}`)
  const found = first.some(name => right.has(name))
  results.push({ language, found, ms: performance.now() - since })
  if (!found && values.misses) console.log(`missed "${query}": ${wanted}; first came ${first[0] ?? 'nothing'}`)
}

const share = (of: typeof results): number => (100 * of.filter(({ found }) => found).length) / of.length
const shareIn = (language: string): number => share(results.filter(result => result.language === language))
const all = share(results.filter(({ language }) => language !== 'talk'))
const [en, zh, talk] = [shareIn('en'), shareIn('zh'), shareIn('talk')]
const p95 = results.map(({ ms }) => ms).toSorted((a, b) => a - b)[Math.floor(results.length * 0.95)] ?? 0
console.log(
  `${tools.length} tools of ${servers.size} servers, ${results.length} requests (${unread} without their server)`,
)
console.log(
  `among the first ${FIRST}: ${all.toFixed(1)} % of all, ${en.toFixed(1)} % English, ${zh.toFixed(1)} % Chinese; ${talk.toFixed(1)} % of spoken Chinese`,
)
console.log(`p95 ${p95.toFixed(2)} ms, built in ${buildMs.toFixed(0)} ms`)
const isEnough =
  tools.length >= LEAST_TOOLS && all >= DEMANDED.all && en >= DEMANDED.en && zh >= DEMANDED.zh && talk >= DEMANDED.talk
process.exit(isEnough && p95 < MOST_P95_MS ? 0 : 1)
