/**
 * The Dockerfile's own steps, run without Docker in a clean Debian root, and the hub that they make, run as `deploy/compose`
 * runs it. Steps that take minutes and the network are in `bun run soak`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { readCommand, readCopy, readDockerfile, valuesOf } from '../support/dockerfile.ts'
import { extent } from '../support/extent.ts'
import { ROOT, startHub } from '../support/hub.ts'
import { buildImage, type Image } from '../support/image.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { smoke } from './smoke.ts'

const stages = readDockerfile(await readFile(join(ROOT, 'Dockerfile'), 'utf8'))
// biome-ignore lint/suspicious/noExplicitAny: a file of another program
const { patchbay } = (load(await readFile(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8')) as any).services

test('the Dockerfile has two stages, and all that it copies', () => {
  expect(stages.map(({ name }) => name)).toEqual(['build', undefined])
  const copies = stages.flatMap(stage => valuesOf(stage, 'COPY')).map(readCopy)
  const files = copies.filter(({ stage }) => stage === undefined).flatMap(({ from }) => from)
  expect(files.length).toBeGreaterThan(5)
  for (const path of files) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true])
})

test('compose uses the image’s volume and port, and the entry point is this repository’s', () => {
  const last = stages.at(-1)
  const [volume, port] = ['VOLUME', 'EXPOSE'].map(name => valuesOf(last, name).join())
  expect(patchbay.volumes).toEqual([`data:${volume}`])
  expect(patchbay.ports).toEqual([`127.0.0.1:${port}:${port}`])
  expect([patchbay.read_only, patchbay.tmpfs]).toEqual([true, ['/tmp:mode=1777']])
  const [init, , bun, script = ''] = readCommand(valuesOf(last, 'ENTRYPOINT')[0] ?? '')
  expect([init, bun, existsSync(join(ROOT, script.replace('/app/', '')))]).toEqual(['tini', 'bun', true])
})

describe.each(extent([], ['in a clean Debian root']))('the image %s', () => {
  let image: Image
  let data: string
  const capabilities = ['-all', ...patchbay.cap_add.map((name: string) => `+${name.toLowerCase()}`)].join(',')
  const asRoot = [`--bounding-set=${capabilities}`]
  const asUser = ['--reuid=1000', '--regid=1000', '--clear-groups', '--bounding-set=-all']

  beforeAll(async () => {
    image = await buildImage()
  }, 900_000)
  afterAll(async () => {
    if (image) await removeTemp(join(image.root, '..'))
  }, 600_000)

  const withData = async (use: () => Promise<void>): Promise<void> => {
    data = await makeTemp('volume')
    // Docker gives a new volume the mode of the folder in the image.
    await chmod(data, 0o777)
    try {
      await use()
    } finally {
      await removeTemp(data)
    }
  }

  test('holds no more of the repository than what runs', () => {
    const { output } = image.run({ data: '/tmp', env: {}, rights: asRoot }, ['sh', '-c', 'ls /app /app/ui'])
    expect(output.trim().split(/\s+/).sort()).toEqual(
      ['/app/ui:', '/app:', 'LICENSE', 'bun.lock', 'bunfig.toml', 'core', 'dist', 'mcp_settings.json', 'node_modules']
        .concat('package.json', 'plugins', 'ui')
        .sort(),
    )
  })

  test('as root with the capabilities of compose: console, servers in the sandbox, a stop with 0', async () => {
    await withData(() => smoke(image.entry({ data, env: { PORT: '0', HOST: '127.0.0.1' }, rights: asRoot })))
  }, 300_000)

  test('as another user: the health check holds, the level is none, and commands are an administrator’s', async () => {
    await withData(async () => {
      // The test asks the address that it prints.
      const env = { PORT: '0', ALLOWED_HOSTS: '0.0.0.0,127.0.0.1' }
      const hub = await startHub({ program: image.entry({ data, env, rights: asUser }), timeoutMs: 60_000 })
      const { port } = new URL(hub.url)
      const health = await fetch(`http://127.0.0.1:${port}/health`)
      expect(await health.json()).toMatchObject({ status: 'ok' })
      const check = (at: string) => image.run({ data, env: { PORT: at }, rights: asUser }, image.healthCheck).code
      expect([check(port), check('9')]).toEqual([0, 1])
      const admin = await hub.setup()
      await online(admin, ['sample'])
      const ann = await hub.user('ann')
      const refused = await ann.request('POST', '/api/servers', { name: 'x', command: 'bun', args: ['-v'] })
      expect([refused.status, refused.json.code]).toEqual([403, 'stdio_not_permitted'])
      expect(await hub.stop()).toBe(0)
    })
  }, 300_000)
})
