/** Parts of a plugin's context, in the main thread and in a thread of its own: requests under the hub's rules, and metrics. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CustomMetrics } from '../../../core/telemetry/custom-metrics.ts'
import { pluginHost } from '../../support/plugin-host.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const SOURCE = `
import { definePlugin } from 'patchbay/contract'
export default definePlugin({
  name: 'asks',
  contract: 1,
  setup({ fetch, metrics, signal, contribute }) {
    metrics.count('starts')
    metrics.count('starts', 2)
    metrics.gauge('level', 0.5, { room: 'north' })
    contribute('routes', 'ask', {
      path: 'ask',
      access: 'public',
      async fetch(request) {
        const url = new URL(request.url).searchParams.get('url')
        try {
          const answer = await fetch(url, { method: 'GET', headers: { 'x-own': 'yes' } })
          return Response.json([answer.status, await answer.text()])
        } catch (error) {
          return Response.json([error.code])
        }
      },
    })
    contribute('routes', 'wrong', {
      path: 'wrong',
      access: 'public',
      async fetch() {
        const said = []
        for (const wrong of [['Upper'], ['n', -1], ['n', NaN], ['n', 1, { owner: 'x' }]]) {
          try { metrics.count(...wrong) } catch (error) { said.push(error.name) }
        }
        return Response.json(said)
      },
    })
    return undefined
  },
})
`

let folder: string
beforeAll(async () => {
  folder = await makeTemp('context')
  await writeFile(join(folder, 'plugin.ts'), SOURCE, { mode: 0o600 })
})
afterAll(() => removeTemp(folder))

test.each([true, false])('requests and metrics; isolated: %p', async isolate => {
  const asked: string[] = []
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      asked.push(`${new URL(request.url).pathname} ${request.headers.get('x-own')}`)
      return new URL(request.url).pathname === '/moved'
        ? new Response('', { status: 302, headers: { location: '/there' } })
        : new Response('here')
    },
  })
  const custom = new CustomMetrics()
  const warnings: string[] = []
  const quiet = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) }
  const start = async (admin: boolean) => {
    const outbound = { rights: { networks: [], admin }, instanceId: 'test' }
    const host = pluginHost({ entries: [{ use: './plugin.ts', isolate }], folder, custom, outbound, log: () => quiet })
    await host.start()
    return host
  }
  const host = await start(true)
  const ask = async (from: typeof host, path: string) => {
    const url = encodeURIComponent(`http://127.0.0.1:${server.port}${path}`)
    return (await from.routes.free('asks', 'ask')?.fetch(new Request(`http://hub/?url=${url}`), undefined))?.json()
  }
  try {
    expect(await ask(host, '/x')).toEqual([200, 'here'])
    expect(await ask(host, '/moved')).toEqual([302, ''])
    expect(asked).toEqual(['/x yes', '/moved yes'])
    const seen = () => custom.list('plugin:asks').map(({ name, kind, value, labels }) => [name, kind, value, labels])
    await until(() => seen().length === 2)
    expect(seen()).toEqual([
      ['starts', 'counter', 3, {}],
      ['level', 'gauge', 0.5, { room: 'north' }],
    ])
    const said = await (await host.routes.free('asks', 'wrong')?.fetch(new Request('http://hub/'), undefined))?.json()
    expect(said).toEqual(isolate ? [] : Array(4).fill('TypeError'))
    if (isolate) await until(() => warnings.length === 4)
    expect(seen()).toHaveLength(2)
  } finally {
    await host.stop()
  }
  const bounded = await start(false)
  try {
    expect(await ask(bounded, '/x')).toEqual(['url_address_blocked'])
    expect(asked).toHaveLength(2)
  } finally {
    await bounded.stop()
  }
})
