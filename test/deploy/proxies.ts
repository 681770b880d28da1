import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startCaddy } from '../support/caddy.ts'
import { Authority } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { ROOT } from '../support/hub.ts'
import { startNginxWith } from '../support/nginx.ts'
import { makeTemp } from '../support/temp.ts'

/** A proxy that runs with a file of `deploy/`. */
export interface RunningProxy extends AsyncDisposable {
  /** The folder of all files that it writes. */
  readonly folder: string
  /** https, with the base path. */
  readonly url: string
  /** The address of the port that leads to https. */
  readonly plainUrl: string
}

type Changes = readonly (readonly [from: string | RegExp, to: string])[]

/** A file of `deploy/` with what belongs to a machine replaced. Throws when a line is no longer there to be replaced. */
async function configured(file: string, changes: Changes): Promise<string> {
  let text = await readFile(join(ROOT, 'deploy', file), 'utf8')
  for (const [from, to] of changes) {
    const next = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to)
    if (!(typeof from === 'string' ? text.includes(from) : from.test(text)))
      throw new Error(`deploy/${file} has no "${from}"`)
    text = next
  }
  return text
}

/** nginx with `deploy/nginx/…` before the hub at `hubUrl`; calls of the API may take `apiTimeout`, in nginx's words. */
export async function nginxBefore(hubUrl: string, apiTimeout = '300s'): Promise<RunningProxy> {
  const { basePath, host, folder, port, plainPort, url } = await place('nginx', hubUrl)
  const file = basePath === '' ? 'nginx/patchbay.conf' : 'nginx/patchbay-below-hub.conf'
  const config = await configured(file, [
    ['server 127.0.0.1:3000;', `server ${host};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    [/ *listen \[::\][^;]*;\n/, ''],
    ['/etc/ssl/patchbay/fullchain.pem', join(folder, 'hub.pem')],
    ['/etc/ssl/patchbay/privkey.pem', join(folder, 'hub.key')],
    ['/var/cache/nginx/patchbay', join(folder, 'cache')],
    ['/var/log/nginx/', `${folder}/`],
    ['proxy_read_timeout 300s', `proxy_read_timeout ${apiTimeout}`],
  ])
  const types = 'default_type application/octet-stream;'
  const nginx = await startNginxWith(`${types}\n${config}`, folder, url)
  return { url: url + basePath, plainUrl: `http://127.0.0.1:${plainPort}`, folder, ...disposing(nginx) }
}

/**
 * Caddy with `deploy/caddy/…` before the hub at `hubUrl`; calls of the API may take `apiTimeout`, in Caddy's words. `site`: lines that
 * its administrator adds to the site.
 */
export async function caddyBefore(hubUrl: string, apiTimeout = '300s', site = ''): Promise<RunningProxy> {
  const { basePath, host, folder, port, plainPort, url } = await place('caddy', hubUrl)
  const file = basePath === '' ? 'caddy/Caddyfile' : 'caddy/Caddyfile.below-hub'
  const name = basePath === '' ? 'hub.example.com' : 'www.example.com'
  const config = await configured(file, [
    [
      '\tgrace_period 10s',
      [
        ...['grace_period 1s', 'admin off', 'auto_https disable_redirects', `http_port ${plainPort}`],
        `storage file_system ${join(folder, 'storage')}`,
      ].join('\n\t'),
    ],
    ['reverse_proxy 127.0.0.1:3000', `reverse_proxy ${host}`],
    [`\n${name} {`, `\nhttps://127.0.0.1:${port} {\n\tbind 127.0.0.1\n\t${site}`],
    ['import patchbay-hub 300s', `import patchbay-hub ${apiTimeout}`],
    ['\ttls {', `\ttls ${join(folder, 'hub.pem')} ${join(folder, 'hub.key')} {`],
  ])
  const caddy = await startCaddy(config, folder, url)
  return { url: url + basePath, plainUrl: `http://127.0.0.1:${plainPort}`, folder, ...disposing(caddy) }
}

async function place(name: string, hubUrl: string) {
  const { host, pathname } = new URL(hubUrl)
  const folder = await makeTemp(name)
  const certificate = new Authority(folder).issue('hub', 'IP:127.0.0.1')
  await Promise.all([
    mkdir(join(folder, 'cache')),
    writeFile(join(folder, 'hub.key'), certificate.key),
    writeFile(join(folder, 'hub.pem'), certificate.cert),
  ])
  const [port, plainPort] = [await freePort(), await freePort()]
  return { folder, host, port, plainPort, basePath: pathname === '/' ? '' : pathname, url: `https://127.0.0.1:${port}` }
}

function disposing(one: AsyncDisposable): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => one[Symbol.asyncDispose]() }
}
