import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'
import { removeTemp } from './temp.ts'
import { until } from './wait.ts'

const INSTALLED = '/usr/bin/caddy'

/** Starts Caddy with this Caddyfile; it answers at `url`, writes to `folder` alone, and removes that at its end. */
export async function startCaddy(caddyfile: string, folder: string, url: string): Promise<AsyncDisposable> {
  await writeFile(join(folder, 'Caddyfile'), caddyfile)
  const child = Bun.spawn([await caddy(), 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    cwd: folder,
    stdio: ['ignore', 'ignore', Bun.file(join(folder, 'caddy.log'))],
    env: { HOME: folder, PATH: process.env.PATH ?? '' },
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    await removeTemp(folder)
  }
  try {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`Caddy ended: ${await Bun.file(join(folder, 'caddy.log')).text()}`)
        return (await fetch(url, { redirect: 'manual', tls: { rejectUnauthorized: false } })).status > 0
      },
      { timeoutMs: 60_000, what: 'Caddy to answer' },
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { [Symbol.asyncDispose]: stop }
}

async function caddy(): Promise<string> {
  if (existsSync(INSTALLED)) return INSTALLED
  const { folder } = await unpackedPrograms({
    ...{ name: 'caddy', packages: ['caddy'], libraries: [], programs: ['usr/bin/caddy'] },
  })
  return join(folder, 'usr/bin/caddy')
}
