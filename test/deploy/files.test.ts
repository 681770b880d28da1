/** Contents of the files of `deploy/` that cannot run here: they agree with each other and with the hub. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { LIMITS } from '../../core/config/limits.ts'
import { START_CODES } from '../../core/config/start-error.ts'
import { unpackedPrograms } from '../support/debian-packages.ts'
import { ROOT } from '../support/hub.ts'
import { inFolder } from '../support/moving.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

const text = (file: string) => readFile(join(ROOT, file), 'utf8')
/** The value of a line `name=value` of the unit. */
const unitLine = async (name: string) =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(await text('deploy/systemd/patchbay.service'))?.[1] ?? ''

test('the two files for nginx differ in where the hub is, and in nothing else', async () => {
  const [own, below] = await Promise.all(
    ['patchbay.conf', 'patchbay-below-hub.conf'].map(name => text(`deploy/nginx/${name}`)),
  )
  const directives = (config = '') =>
    config
      .replaceAll('www.example.com', 'hub.example.com')
      .replaceAll(/(location (?:= |~ \^)?)\/hub(?=[/ ])/g, '$1')
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '' && !line.startsWith('#'))
  const only = ['location =  {', 'return 308 /hub/;', 'location / {', 'return 404;', '}']
  const [first, second] = [directives(own), directives(below)]
  expect(first.filter(line => !second.includes(line))).toEqual([])
  expect(second.filter(line => !first.includes(line) && !only.includes(line))).toEqual([])
})

test('Traefik’s file is YAML with the limits and times of the others', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a file of another program
  const { http, tls } = load(await text('deploy/traefik/patchbay.yml')) as any
  expect(http.middlewares['patchbay-api-rate'].rateLimit).toEqual({ average: 10, period: '1s', burst: 20 })
  expect(http.middlewares['patchbay-login-rate'].rateLimit).toEqual({ average: 1, period: '1s', burst: 5 })
  expect(http.middlewares['patchbay-gzip'].compress.minResponseBodyBytes).toBe(1_024)
  expect(http.middlewares['patchbay-hsts'].headers.stsSeconds).toBe(31_536_000)
  expect(tls.options.patchbay.minVersion).toBe('VersionTLS12')
  for (const router of Object.values(http.routers) as { service: string; middlewares: string[] }[]) {
    expect(Object.keys(http.services)).toContain(router.service)
    expect(Object.keys(http.middlewares)).toEqual(expect.arrayContaining(router.middlewares))
  }
})

test('Traefik’s static configuration logs neither queries nor headers, and lets streams last', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a file of another program
  const settings = load(await text('deploy/traefik/traefik.yml')) as any
  const { accessLog, entryPoints, certificatesResolvers, providers } = settings
  expect(accessLog.fields).toEqual({
    names: { RequestPath: 'drop', RequestLine: 'drop' },
    headers: { defaultMode: 'drop' },
  })
  const { readTimeout, writeTimeout } = entryPoints.websecure.transport.respondingTimeouts
  expect([readTimeout, writeTimeout, providers.file.filename]).toEqual(['24h', '24h', '/etc/traefik/patchbay.yml'])
  // biome-ignore lint/suspicious/noExplicitAny: a file of another program
  const { http } = load(await text('deploy/traefik/patchbay.yml')) as any
  for (const { entryPoints: used, tls } of Object.values(http.routers) as {
    entryPoints: string[]
    tls: { certResolver: string }
  }[]) {
    expect(Object.keys(entryPoints)).toEqual(expect.arrayContaining(used))
    expect(Object.keys(certificatesResolvers)).toContain(tls.certResolver)
  }
})

test('the unit waits for the drain, and does not start again what cannot start', async () => {
  expect(Number(await unitLine('TimeoutStopSec')) * 1_000).toBeGreaterThan(LIMITS.drainMs + 10_000)
  const final = Object.values(START_CODES).filter(code => code !== 1)
  expect((await unitLine('RestartPreventExitStatus')).split(' ').map(Number)).toEqual([...new Set(final)])
  const [program = '', script = ''] = (await unitLine('ExecStart')).split(' ')
  expect(program.startsWith('/')).toBe(true)
  expect(existsSync(join(ROOT, script.replace('/opt/patchbay/', '')))).toBe(true)
})

test('the sandbox holds with no more capabilities than the unit and the container leave', async () => {
  const unit = (await unitLine('CapabilityBoundingSet')).split(' ').map(name => name.replace('CAP_', ''))
  // biome-ignore lint/suspicious/noExplicitAny: a file of another program
  const { services } = load(await text('deploy/compose/compose.yaml')) as any
  expect(services.patchbay.cap_drop).toEqual(['ALL'])
  expect(services.patchbay.cap_add).toEqual(unit)
  const folder = await makeTemp('capabilities')
  await chmod(folder, 0o711)
  const set = ['-all', ...unit.map(name => `+${name.toLowerCase()}`)].join(',')
  const doctor = [process.execPath, join(ROOT, 'core/main.ts'), 'doctor', '--json']
  const child = Bun.spawnSync(['setpriv', '--bounding-set', set, '--no-new-privs', ...doctor], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, DATA_DIR: join(folder, 'data'), PORT: '0' },
  })
  const without = await inFolder(folder, ['doctor', '--json'])
  await removeTemp(folder)
  const sandbox = (said: string) => /[^{}]*"sandbox"[^{}]*/.exec(said)?.[0] ?? said
  expect(sandbox(child.stdout.toString())).toContain('level full')
  expect(sandbox(without.stdout)).toContain('level full')
}, 120_000)

test('the services of compose are those of the pages', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a file of another program
  const postgres = load(await text('deploy/compose/postgres.yaml')) as any
  expect(postgres.services.patchbay.environment.DATABASE_URL).toStartWith('postgres://')
})

test('systemd takes the unit as it is, and finds it no more open than it has to be', async () => {
  const folder = await makeTemp('unit')
  const file = join(folder, 'patchbay.service')
  const unit = await text('deploy/systemd/patchbay.service')
  // The paths of this machine, which systemd wants to exist.
  await writeFile(file, unit.replaceAll('/usr/local/bin/bun', process.execPath).replaceAll('/opt/patchbay', ROOT))
  const analyze = async (...args: string[]) => {
    const { folder: root, env } = await systemdAnalyze()
    const program = join(root, 'usr/bin/systemd-analyze')
    const { exitCode, stdout, stderr } = Bun.spawnSync([program, ...args, file], {
      env: { PATH: process.env.PATH ?? '', SYSTEMD_PAGER: 'cat', ...env },
    })
    return { exitCode, said: `${stdout}${stderr}`.trim() }
  }
  expect(await analyze('verify')).toEqual({ exitCode: 0, said: '' })
  // The limit is 60 of 100. Version 252 gives 58; the rest is for the network and the parts of the sandbox.
  expect(await analyze('security', '--offline=true', '--threshold=60')).toMatchObject({ exitCode: 0 })
  await writeFile(file, unit.replaceAll(/^(?:CapabilityBoundingSet|Protect|Restrict).*\n/gm, ''))
  expect((await analyze('security', '--offline=true', '--threshold=60')).exitCode).toBe(1)
  await removeTemp(folder)
}, 120_000)

async function systemdAnalyze() {
  const program = 'usr/bin/systemd-analyze'
  if (existsSync(join('/', program))) return { folder: '/', env: {} }
  const wanted = { name: 'systemd', packages: ['systemd', 'libsystemd-shared'], libraries: [], programs: [program] }
  return unpackedPrograms(wanted)
}
