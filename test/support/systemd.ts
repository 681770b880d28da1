import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from './wait.ts'

/**
 * Makes the folder $1 the root of a separate machine, whose console is the file $2, and runs systemd as its first process. The
 * network is this machine's.
 */
const BOOT = `set -eu
PATH=$PATH:/usr/sbin:/sbin
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sys "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
for folder in run tmp; do mount -t tmpfs tmpfs "$1/$folder"; done
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for device in null zero full random urandom tty; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mkdir "$1/dev/pts" "$1/dev/shm" "$1/run/old"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
touch "$1/dev/console"
mount --bind "$2" "$1/dev/console"
cd "$1"
pivot_root . run/old
umount -l /run/old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --show-status=no`

/** A machine of its own in namespaces, with systemd as process 1. */
export interface Machine extends AsyncDisposable {
  /** Runs a command inside. */
  run(...command: readonly string[]): { readonly code: number; readonly output: string }
}

/** Returns the place for new control groups in the hierarchy that systemd uses. */
async function groupsRoot(): Promise<string> {
  const mounts = (await Bun.file('/proc/mounts').text()).split('\n').map(line => line.split(' '))
  const place = mounts.find(([, , type]) => type === 'cgroup2')?.[1]
  if (place === undefined) throw new Error('No cgroup2 is mounted here, which systemd needs')
  return place
}

/** Starts systemd in `root`, a Debian that has it. Needs root. */
export async function bootMachine(root: string): Promise<Machine> {
  const group = join(await groupsRoot(), `patchbay-test-${process.pid}`)
  const console_ = join(root, 'console.log')
  await mkdir(group)
  await writeFile(console_, '')
  const enter = ['sh', '-c', 'echo 0 > "$1/cgroup.procs"; shift; exec "$@"', 'sh', group]
  const namespaces = ['unshare', '--mount', '--pid', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
  const child = Bun.spawn([...enter, ...namespaces, 'sh', '-c', BOOT, 'sh', root, console_], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
    await until(async () => (await removedGroups(group)) === 0, { what: 'the control groups to be empty' })
  }
  const run: Machine['run'] = (...command) => {
    const inside = ['nsenter', '-t', firstInside(child.pid), '-m', '-p', '-u', '-i', '-C', '-r', '-w', ...command]
    const { exitCode, stdout, stderr } = Bun.spawnSync(inside)
    return { code: exitCode, output: `${stdout}${stderr}` }
  }
  try {
    await until(() => /running|degraded/.test(run('systemctl', 'is-system-running').output), {
      ...{ timeoutMs: 60_000, what: 'systemd to have started everything' },
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { run, [Symbol.asyncDispose]: stop }
}

function firstInside(pid: number): string {
  return Bun.spawnSync(['pgrep', '-P', String(pid)])
    .stdout.toString()
    .trim()
}

/** Removes the control groups below, the inner ones first; the number of those that are still in use. */
async function removedGroups(group: string): Promise<number> {
  const found = await readdir(group, { recursive: true, withFileTypes: true }).catch(() => [])
  const folders = found.filter(entry => entry.isDirectory()).map(entry => join(entry.parentPath, entry.name))
  const sorted = [group, ...folders].sort((a, b) => b.length - a.length)
  const left = await Promise.all(sorted.map(folder => Bun.spawn(['rmdir', folder], { stderr: 'ignore' }).exited))
  await rm(group, { recursive: true, force: true }).catch(() => undefined)
  return (await Bun.file(join(group, 'cgroup.procs')).exists()) ? left.filter(code => code !== 0).length : 0
}
