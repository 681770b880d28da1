import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'
import { freePort } from './free-port.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

/** A Prometheus on 127.0.0.1 that reads one target each second. */
export interface Prometheus extends AsyncDisposable {
  /** The value of an expression with one result; undefined while it has none. */
  query(expression: string): Promise<number | undefined>
  /** Number of results of an expression. Throws Prometheus' error for an invalid one. */
  count(expression: string): Promise<number>
}

/** Output of promtool for a text of metrics; empty if there is none. */
export async function promtoolSays(metrics: string): Promise<string> {
  const { folder } = await programs()
  const child = Bun.spawn([join(folder, 'usr/bin/promtool'), 'check', 'metrics'], {
    stdin: new Blob([metrics]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const words = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text())
  return (await child.exited) === 0 ? words : `${words}exit code ${child.exitCode}`
}

/** Output of promtool when it creates blocks from a file in the OpenMetrics format; throws its error otherwise. */
export async function blocksFrom(file: string, folder: string): Promise<string> {
  const { folder: root } = await programs()
  const args = ['tsdb', 'create-blocks-from', 'openmetrics', file, folder]
  const child = Bun.spawn([join(root, 'usr/bin/promtool'), ...args], { stdout: 'pipe', stderr: 'pipe' })
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text())
  if ((await child.exited) !== 0) throw new Error(said)
  return said
}

/** Output of promtool for a configuration; empty if there is none. */
export async function promtoolSaysOfConfig(file: string): Promise<string> {
  const { folder } = await programs()
  const { exitCode, stdout, stderr } = Bun.spawnSync([join(folder, 'usr/bin/promtool'), 'check', 'config', file])
  return exitCode === 0 ? '' : `${stdout}${stderr}exit code ${exitCode}`
}

/** Starts Prometheus for a hub with this METRICS_TOKEN. Unpacks Debian's package if it is not installed. */
export function startPrometheus(hubUrl: string, token: string): Promise<Prometheus> {
  return startPrometheusWith(`scrape_configs:
  - job_name: patchbay
    scrape_interval: 1s
    authorization: { credentials: ${token} }
    static_configs: [{ targets: ['${new URL(hubUrl).host}'] }]
`)
}

/** The same with this `prometheus.yml`. */
export async function startPrometheusWith(config: string): Promise<Prometheus> {
  const { folder: root } = await programs()
  const folder = await makeTemp('prometheus')
  const port = await freePort()
  await writeFile(join(folder, 'prometheus.yml'), config)
  const child = Bun.spawn(
    [
      join(root, 'usr/bin/prometheus'),
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'ignore'], cwd: folder, env: {} },
  )
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    await removeTemp(folder)
  }
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).status === 200, {
      timeoutMs: 60_000,
      what: 'Prometheus to be ready',
    })
  } catch (error) {
    await stop()
    throw error
  }
  const results = async (expression: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`)
    const { data, error } = (await answer.json()) as {
      data?: { result: readonly { value: readonly [number, string] }[] }
      error?: string
    }
    if (!data) throw new Error(`${expression}: ${error}`)
    return data.result
  }
  return {
    async query(expression) {
      const [found] = await results(expression)
      return found && Number(found.value[1])
    },
    count: async expression => (await results(expression)).length,
    [Symbol.asyncDispose]: stop,
  }
}

async function programs(): Promise<{ readonly folder: string }> {
  const names = ['usr/bin/prometheus', 'usr/bin/promtool']
  if (names.every(name => existsSync(join('/', name)))) return { folder: '/' }
  return unpackedPrograms({ name: 'prometheus', packages: ['prometheus'], libraries: [], programs: names })
}
