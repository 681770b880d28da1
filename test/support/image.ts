import { statSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { assignments, copyAll, debian, enter, runIn } from './debian-root.ts'
import { type Copy, readCommand, readCopy, readDockerfile, readEnv, type Stage, valuesOf } from './dockerfile.ts'
import { ROOT } from './hub.ts'
import { makeTemp } from './temp.ts'

const BUN = '/usr/local/bin/bun'
/** unshare ignores TERM: it is passed to the first process inside. Ends with the exit code of the program. */
const PASS_TERM = `"$@" & p=$!
trap 'kill -TERM $(cat /proc/$p/task/$p/children)' TERM
wait $p; code=$?
if kill -0 $p 2>&-; then wait $p; code=$?; fi
exit $code`

/** Result of the Dockerfile, in a folder: built by the same steps, without Docker. */
export interface Image {
  readonly root: string
  readonly healthCheck: readonly string[]
  /** Runs the entry point with a read-only root and `data` as its volume; a container's TERM reaches it. */
  entry(options: ContainerOptions): readonly string[]
  /** Runs a command inside, for its output. */
  run(options: ContainerOptions, command: readonly string[]): { readonly code: number; readonly output: string }
}

/** Options of running a container. */
export interface ContainerOptions {
  /** A folder for the volume. */
  readonly data: string
  readonly env: Readonly<Record<string, string>>
  /** Arguments of `setpriv`: the user and the capabilities. */
  readonly rights: readonly string[]
}

/** Carries out the Dockerfile, each stage in a clean Debian with Bun. Takes minutes and the network; needs root. */
export async function buildImage(): Promise<Image> {
  const folder = await makeTemp('image')
  const stages = readDockerfile(await readFile(join(ROOT, 'Dockerfile'), 'utf8'))
  const done = new Map<string, string>()
  for (const [n, stage] of stages.entries()) {
    const root = join(folder, String(n))
    await copyTree(await debian(), root)
    await copyFile(process.execPath, join(root, BUN))
    await chmod(join(root, BUN), 0o755)
    await symlink('bun', join(root, `${BUN}x`))
    let workdir = '/'
    for (const { name, value } of stage.instructions) {
      if (name === 'RUN') runStep(root, workdir, stage, value)
      if (name === 'COPY') await copyInto(root, workdir, done, readCopy(value))
      if (name !== 'WORKDIR') continue
      workdir = value
      await mkdir(join(root, value), { recursive: true })
    }
    if (stage.name !== undefined) done.set(stage.name, root)
  }
  const last = stages.at(-1)
  const root = join(folder, String(stages.length - 1))
  const env = envOf(last)
  const [volume = ''] = valuesOf(last, 'VOLUME')
  const inside = (options: ContainerOptions, command: readonly string[]) => [
    ...enter(root, { access: 'ro', data: options.data, volume }),
    ...['env', '-i', ...assignments({ ...env, ...options.env }), 'setpriv', ...options.rights, '--no-new-privs', '--'],
    ...['sh', '-c', `cd ${valuesOf(last, 'WORKDIR').at(-1)}; exec "$@"`, 'sh', ...command],
  ]
  return {
    root,
    healthCheck: readCommand(valuesOf(last, 'HEALTHCHECK')[0] ?? ''),
    entry: options => [
      ...['sh', '-c', PASS_TERM, 'sh'],
      ...inside(options, readCommand(valuesOf(last, 'ENTRYPOINT')[0] ?? '')),
    ],
    run(options, command) {
      const { exitCode, stdout, stderr } = Bun.spawnSync([...inside(options, command)])
      return { code: exitCode, output: `${stdout}${stderr}` }
    },
  }
}

async function copyInto(root: string, workdir: string, done: ReadonlyMap<string, string>, copy: Copy): Promise<void> {
  const { stage: other, from, to } = copy
  const source = other === undefined ? ROOT : (done.get(other) ?? '')
  const target = to.startsWith('/') ? join(root, to) : join(root, workdir, to)
  for (const path of from) {
    const isFolder = statSync(join(source, path)).isDirectory()
    const into = isFolder || !(to.endsWith('/') || from.length > 1) ? target : join(target, path)
    if (isFolder) await copyTree(join(source, path), into, other === undefined)
    else await copyFile(join(source, path), into)
  }
}

/** Copies a folder; from this repository, without the files that `.dockerignore` names. */
async function copyTree(from: string, to: string, isRepository = false): Promise<void> {
  if (isRepository) {
    const ignored = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n').map(path => join(ROOT, path))
    return cp(from, to, { recursive: true, filter: path => !ignored.includes(path) })
  }
  await copyAll(from, to)
}

function runStep(root: string, workdir: string, stage: Stage, command: string): void {
  runIn(root, `cd ${workdir} && ${command}`, envOf(stage))
}

function envOf(stage: Stage | undefined): Record<string, string> {
  return Object.assign({}, ...valuesOf(stage, 'ENV').map(readEnv))
}
