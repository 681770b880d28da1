/** Package runners in the sandbox behind a mirror whose certificate is signed by the operator's own authority. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { registryCertificates, trustEnv } from '../../core/connections/spawn/registry-authority.ts'
import { Authority } from '../support/certificates.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type PackageRegistry, startRegistry } from '../support/package-registry.ts'
import { callText, statusOf } from '../support/servers.ts'
import { shutInProgram } from '../support/shut-in.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

let folder: string
let file: string
let registry: PackageRegistry
let hub: Hub
let bob: Client
let level: string

beforeAll(async () => {
  folder = await makeTemp('authority')
  const authority = new Authority(folder)
  // npm asks for "localhost" in the handshake where the address is an IP address.
  const tls = authority.issue('registry', 'IP:127.0.0.1,DNS:localhost')
  file = join(folder, 'trusted.pem')
  // As some keep it: with a key, which nobody else may see.
  await writeFile(file, `# ours\n${tls.key}\n${authority.certificate}`, { mode: 0o600 })
  const manifest = { bin: { 'shut-in': 'server.js' } }
  registry = await startRegistry(
    [{ name: 'shut-in', version: '1.0.0', manifest, files: { 'server.js': await shutInProgram() } }],
    tls,
  )
  hub = await startHub({ env: { REGISTRIES: registry.url, REGISTRIES_CA: file } })
  bob = await hub.user('bob')
  level = (await bob.ok('GET', '/health')).checks.sandbox
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await registry?.stop()
  await removeTemp(folder)
}, 120_000)

const hasNpm = Bun.which('npm', { PATH: '/usr/local/bin:/usr/bin:/bin' }) !== null
const RUNNERS = [
  ...(hasNpm ? [{ command: 'npx', args: ['-y', 'shut-in'] }] : []),
  { command: 'bunx', args: ['shut-in'] },
]

test.each(RUNNERS)(
  '$command installs from it, and no key is shown to the program',
  async ({ command, args }) => {
    const answer = await bob.request('POST', '/api/servers', { name: command, command, args })
    if (level !== 'full') {
      expect(answer.json.code).toBe('stdio_not_permitted')
      return
    }
    const { state, reason } = await until(
      async () => {
        const status = await statusOf(bob, command)
        return (status.state === 'online' || status.reason) && status
      },
      { timeoutMs: 80_000 },
    )
    expect([state, reason]).toEqual(['online', undefined])
    const self = JSON.parse(await callText(await bob.mcp(`/mcp/${command}`), 'self', {}))
    expect(Object.keys(self.env)).not.toContain('NODE_EXTRA_CA_CERTS')
    const shown = await readFile(await certificatesFile(), 'utf8')
    expect(shown).toContain('BEGIN CERTIFICATE')
    expect(shown).not.toMatch(/PRIVATE KEY|# ours/)
  },
  120_000,
)

async function certificatesFile(): Promise<string> {
  const [found = ''] = await Array.fromAsync(new Bun.Glob('runtime/*/certificates.pem').scan(hub.dataDir))
  return join(hub.dataDir, found)
}

const installed = (program: string) => Bun.which(program) !== null
/** Each asks for something that is not there: that it asks at all shows that it trusts the certificate. */
const CLIENTS: [name: string, call: (url: string) => string[]][] = [
  ['npm', url => ['npm', 'view', 'asks-npm', `--registry=${url}`, '--fetch-retries=0']],
  ['bun', url => [process.execPath, 'info', 'asks-bun', `--registry=${url}`]],
  ['node', url => ['node', '-e', `fetch('${url}asks-node')`]],
  ['curl', url => ['curl', '-s', `${url}asks-curl`]],
  ['git', url => ['git', 'ls-remote', `${url}asks-git`]],
  ['pip3', url => ['pip3', 'download', '--retries=0', `--index-url=${url}simple`, '--no-deps', 'asks-pip3']],
  ['uv', url => ['uv', 'pip', 'install', '--dry-run', '--no-config', `--default-index=${url}simple`, 'asks-uv']],
  ['deno', url => ['deno', 'eval', `await fetch('${url}asks-deno')`]],
]

test.each(CLIENTS.filter(([name]) => name === 'bun' || installed(name)))(
  '%s trusts the authority by its variables alone',
  async (name, call) => {
    const trusted = join(folder, `certificates-${name}.pem`)
    await writeFile(trusted, await registryCertificates(file))
    const asks = async (env: Record<string, string>) => {
      const before = registry.asked.length
      const home = { PATH: process.env.PATH ?? '', HOME: folder, NO_UPDATE_NOTIFIER: '1' }
      const child = Bun.spawn(call(registry.url.replace('127.0.0.1', 'localhost')), {
        ...{ cwd: folder, env: { ...home, ...env }, stdout: 'ignore', stderr: 'ignore', stdin: 'ignore' },
      })
      await child.exited
      return registry.asked.slice(before).some(path => path.includes(`asks-${name}`))
    }
    expect(await asks({})).toBe(false)
    expect(await asks(trustEnv(trusted))).toBe(true)
  },
  60_000,
)

test('a file that is gone or holds no certificate is the reason of the server, without its path', async () => {
  if (level !== 'full') return expect(existsSync(file)).toBe(true)
  const reasonOf = async (name: string) => {
    await bob.ok('POST', '/api/servers', { name, command: 'bunx', args: ['shut-in'] })
    const reason = await until(async () => (await statusOf(bob, name)).reason, { timeoutMs: 60_000 })
    await bob.ok('DELETE', `/api/servers/${name}`)
    return reason
  }
  await rename(file, `${file}.kept`)
  const gone = await reasonOf('gone')
  await writeFile(file, 'no certificate\n')
  const empty = await reasonOf('empty')
  await rename(`${file}.kept`, file)
  expect([gone, empty]).toMatchObject([{ code: 'spawn_failed' }, { code: 'spawn_failed' }])
  expect(gone.message).toMatch(/REGISTRIES_CA.*ENOENT/)
  expect(empty.message).toMatch(/REGISTRIES_CA.*no certificate/)
  expect(`${gone.message}${empty.message}`).not.toContain(folder)
}, 120_000)
