/**
 * Entries of the bundled catalogue, as an ordinary user installs them: in the sandbox, from the registry that npm of this
 * machine uses. It takes minutes and the network; `market.test.ts` checks the commands that would run.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

/** Entries of ten publishers; all list their tools without the network, a key or another program. */
const ENTRIES = [
  ...['memory', 'context7', 'eslint', 'reddit', 'mui'],
  ...['drawio', 'antv-chart', 'airbnb', 'git', 'code-runner'],
]
const INSTALL_MS = 300_000

let hub: Hub
let bob: Client

beforeAll(async () => {
  hub = await startHub({ env: { REGISTRIES: await npmRegistry() } })
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

async function npmRegistry(): Promise<string> {
  return (await new Response(Bun.spawn(['npm', 'config', 'get', 'registry']).stdout).text()).trim()
}

const installPath = (name: string): string => `/api/market/templates/bundled:${name}/install`
const wishOf = (name: string) => ({ name, inputs: {}, start: true })

async function sandbox(): Promise<string> {
  return (await bob.ok('GET', '/health')).checks.sandbox
}

interface Status {
  readonly state: string
  readonly reason?: { readonly code: string; readonly message: string }
}

/** Installs an entry, and returns the number of tools that its server lists. */
async function install(name: string): Promise<{ readonly listed: number; readonly promised: number }> {
  const startedMs = performance.now()
  const { planHash, version } = await bob.ok('POST', `${installPath(name)}?dryRun=true`, wishOf(name))
  await bob.ok('POST', installPath(name), { ...wishOf(name), planHash })
  const status = await until(
    async (): Promise<Status | undefined> => {
      const { status } = await bob.ok('GET', `/api/servers/${name}`)
      return status.state === 'online' || status.reason ? status : undefined
    },
    { timeoutMs: INSTALL_MS, intervalMs: 200, what: `${name} to be online or to say why not` },
  )
  expect([name, status.state, status.reason]).toEqual([name, 'online', undefined])
  const client = await bob.mcp(`/mcp/${name}`)
  const { tools } = await client.listTools()
  const { toolCount } = await bob.ok('GET', `/api/market/templates/bundled:${name}`)
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`${name} ${version}: ${tools.length} tools in ${seconds} s`)
  await bob.ok('DELETE', `/api/servers/${name}`)
  return { listed: tools.length, promised: toolCount }
}

test.each(ENTRIES)(
  '%s is installed, started in the sandbox, and lists the tools that the catalogue promises',
  async name => {
    const level = await sandbox()
    if (level !== 'full') throw new Error(`There is no sandbox here (${level}): install bubblewrap for this test`)
    const { listed, promised } = await install(name)
    expect([name, listed]).toEqual([name, promised])
  },
  INSTALL_MS + 30_000,
)
