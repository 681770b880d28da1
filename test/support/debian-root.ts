/** Clean Debian roots in folders, and what runs in them. Needs root, and the network for the first one. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'
import { makeTemp } from './temp.ts'

/** Path of this machine's own certificates in a stage, for `NODE_EXTRA_CA_CERTS`. */
const CERTIFICATES = '/run/certificates.pem'
/**
 * Makes the folder $1 the root, as a container does, with a container's mounts. $2: its access, `rw` or `ro`. A changed root
 * alone (chroot) is not enough: the kernel then forbids user namespaces.
 */
const ENTER = `set -eu
PATH=$PATH:/usr/sbin:/sbin
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind /etc/resolv.conf "$1/etc/resolv.conf"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
if [ -n "$3" ]; then mount --bind "$3" "$1$4"; fi
if [ -n "$5" ]; then touch "$1${CERTIFICATES}"; mount --bind "$5" "$1${CERTIFICATES}"; fi
mount -o "remount,bind,$2" "$1"
cd "$1"
pivot_root . .
umount -l .
shift 5
exec "$@"`

/** Runs a shell command in a root, as the user root. Throws with its output when it fails. */
export function runIn(root: string, command: string, more: Readonly<Record<string, string>> = {}): void {
  const own = process.env.NODE_EXTRA_CA_CERTS
  const certificates = own === undefined ? {} : { NODE_EXTRA_CA_CERTS: CERTIFICATES }
  const env = { HOME: '/root', ...certificates, ...more }
  succeed([...enter(root, { access: 'rw', certificates: own }), 'env', '-i', ...assignments(env), 'sh', '-c', command])
}

/** The words before a command that make it run in a root, as a container's first process. */
export function enter(
  root: string,
  options: { access: 'rw' | 'ro'; data?: string; volume?: string; certificates?: string | undefined },
): readonly string[] {
  const { access, data = '', volume = '', certificates = '' } = options
  const words = [root, access, data, volume, certificates]
  return ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER, 'sh', ...words]
}

/** `NAME=value` of each variable, for env, with a container's PATH. */
export function assignments(env: Readonly<Record<string, string>>): readonly string[] {
  const path = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' }
  return Object.entries({ ...path, ...env }).map(([name, value]) => `${name}=${value}`)
}

/** Copies the content of a folder, with owners and modes. */
export async function copyAll(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  succeed(['cp', '-a', '--reflink=auto', `${from}/.`, to])
}

/** A minimal Debian system, kept for later runs. */
export async function debian(): Promise<string> {
  const place = join(tmpdir(), `patchbay-debian-${process.arch}`)
  if (existsSync(place)) return place
  const script = 'usr/sbin/debootstrap'
  const wanted = { name: 'debootstrap', packages: ['debootstrap'], libraries: [], programs: [script] }
  const { folder } = await unpackedPrograms(wanted)
  const root = await makeTemp('debian')
  try {
    // In a mount namespace of its own, so that its mounts end with it.
    succeed(['unshare', '--mount', join(folder, script), '--variant=minbase', 'bookworm', root], {
      DEBOOTSTRAP_DIR: join(folder, 'usr/share/debootstrap'),
    })
    await chmod(root, 0o755)
    await rename(root, place)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
  return place
}

function succeed(command: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: '/root', ...env },
  })
  if (exitCode === 0) return
  throw new Error(
    `${command.slice(-3).join(' ')} ended with ${exitCode}:\n${stdout.toString().slice(-2_000)}\n${stderr}`,
  )
}
