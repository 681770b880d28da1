import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'
import { freePort } from './free-port.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

const INSTALLED = '/usr/sbin/nginx'

/** A reverse proxy on 127.0.0.1 with all it writes in a folder of its own. */
export interface Nginx extends AsyncDisposable {
  readonly url: string
}

/** Starts nginx with these `location` blocks in its one server. Unpacks Debian's package if it is not installed. */
export async function startNginx(locations: string): Promise<Nginx> {
  const port = await freePort()
  const http = `access_log off; server { listen 127.0.0.1:${port}; server_name _; ${locations} }`
  return startNginxWith(http, await makeTemp('nginx'), `http://127.0.0.1:${port}`)
}

/** Starts nginx with what belongs into its `http` block; it answers at `url`, and removes `folder` at its end. */
export async function startNginxWith(http: string, folder: string, url: string): Promise<Nginx> {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/${name};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; ${user}
events { worker_connections 256; }
http {
  ${places.join(' ')}
  ${http}
}`
  await writeFile(join(folder, 'nginx.conf'), config)
  const { program, env } = await nginx()
  const child = Bun.spawn([program, '-p', folder, '-e', join(folder, 'error.log'), '-c', 'nginx.conf'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await child.exited
    await removeTemp(folder)
  }
  try {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`nginx ended: ${await new Response(child.stderr).text()}`)
        return (await fetch(url, { redirect: 'manual', tls: { rejectUnauthorized: false } })).status > 0
      },
      { timeoutMs: 60_000, what: 'nginx to answer' },
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { url, [Symbol.asyncDispose]: stop }
}

async function nginx(): Promise<{ readonly program: string; readonly env: Readonly<Record<string, string>> }> {
  if (existsSync(INSTALLED)) return { program: INSTALLED, env: {} }
  const libraries = ['libpcre2-8-0', 'libssl3', 'zlib1g', 'libcrypt1']
  const wanted = { name: 'nginx', packages: ['nginx'], libraries, programs: ['usr/sbin/nginx'] }
  const { folder, env } = await unpackedPrograms(wanted)
  return { program: join(folder, 'usr/sbin/nginx'), env }
}
