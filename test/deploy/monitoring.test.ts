/** `deploy/compose/monitoring.yaml` and its files: a real Prometheus with them reads a real hub, and answers the dashboard. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { readDockerfile, valuesOf } from '../support/dockerfile.ts'
import { beyondCore } from '../support/extent.ts'
import { PASSWORD, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { promtoolSaysOfConfig, startPrometheusWith } from '../support/prometheus.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const FOLDER = join(ROOT, 'deploy/compose')
const text = (file: string) => readFile(join(FOLDER, file), 'utf8')
// biome-ignore lint/suspicious/noExplicitAny: files of other programs
const yaml = async (file: string) => load(await text(file)) as any
const TOKEN = 'a-token-of-the-metrics-test'
/** Queries that have no result in a hub without alerts, offline servers, and losses. */
const EMPTY = ['patchbay_server_up == 0', 'sum by (sink, reason) (increase(patchbay_log_dropped_total[5m]))']

test('each file that is mounted is here, and the names in them are those of the services', async () => {
  const { services, secrets, volumes } = await yaml('monitoring.yaml')
  const named = Object.keys(volumes)
  const mounts = Object.values(services).flatMap(service => (service as { volumes?: string[] }).volumes ?? [])
  expect(mounts.length).toBeGreaterThan(4)
  for (const [from = ''] of mounts.map(mount => mount.split(':')))
    expect([from, named.includes(from) || existsSync(join(FOLDER, from))]).toEqual([from, true])
  const { scrape_configs: scrapes } = await yaml('monitoring/prometheus.yml')
  const port = valuesOf(readDockerfile(await readFile(join(ROOT, 'Dockerfile'), 'utf8')).at(-1), 'EXPOSE').join()
  const [{ authorization, static_configs: targets }] = scrapes
  expect(targets).toEqual([{ targets: [`patchbay:${port}`] }])
  expect(services.patchbay.environment.ALLOWED_HOSTS).toEndWith(',patchbay')
  const [secret] = services.prometheus.secrets
  expect(authorization.credentials_file).toBe(`/run/secrets/${secret}`)
  const { patchbay } = (await yaml('compose.yaml')).services
  expect(patchbay.environment[secrets[secret].environment]).toContain('METRICS_TOKEN')
  const [source] = (await yaml('monitoring/datasource.yml')).datasources
  expect([source.url, source.uid]).toEqual(['http://prometheus:9090', 'patchbay-prometheus'])
  const [provider] = (await yaml('monitoring/dashboards.yml')).providers
  expect(services.grafana.volumes.join()).toContain(`:${provider.options.path}/`)
})

beyondCore(() => {
  test('Prometheus reads the hub with these files, and answers what the dashboard asks', async () => {
    const folder = await makeTemp('monitoring')
    const env = { ADMIN_USERNAME: 'root', ADMIN_PASSWORD: PASSWORD, METRICS_TOKEN: TOKEN }
    const hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo') } }, env })
    try {
      const admin = await hub.signIn('root')
      await online(admin, ['echo'])
      // The file of the repository is the hub's own dashboard, with a data source that is known already.
      const { __inputs, __requires, ...own } = await admin.ok('GET', '/api/monitoring/grafana/dashboard')
      const known = JSON.stringify(own).replaceAll(`\${${__inputs[0].name}}`, 'patchbay-prometheus')
      const dashboard = JSON.parse(await text('monitoring/dashboard.json'))
      expect(dashboard).toEqual(JSON.parse(known))

      const token = join(folder, 'token')
      await writeFile(token, `${TOKEN}\n`)
      const config = (await text('monitoring/prometheus.yml'))
        .replace('/run/secrets/metrics_token', token)
        .replace('patchbay:3000', new URL(hub.url).host)
        .replace('scrape_interval: 15s', 'scrape_interval: 1s')
      await writeFile(join(folder, 'prometheus.yml'), config)
      expect(await promtoolSaysOfConfig(join(folder, 'prometheus.yml'))).toBe('')
      await using prometheus = await startPrometheusWith(config)
      const client = await admin.mcp('/mcp/echo')
      await until(async () => (await prometheus.query('up{job="patchbay"}')) === 1, { timeoutMs: 60_000 })
      const asked: string[] = dashboard.panels.map(
        ({ targets: [target] }: { targets: { expr: string }[] }) => target?.expr,
      )
      expect(asked.length).toBeGreaterThan(10)
      let silent: readonly string[] = []
      await until(
        async () => {
          await callText(client, 'echo', { text: 'seen' })
          const counts = await Promise.all(asked.map(expression => prometheus.count(expression)))
          silent = asked.filter((expression, n) => counts[n] === 0 && !EMPTY.includes(expression))
          return silent.length === 0
        },
        { timeoutMs: 60_000, intervalMs: 500 },
      ).catch(() => expect(silent).toEqual([]))
    } finally {
      await hub.stop()
      await removeTemp(folder)
    }
  }, 120_000)
})
