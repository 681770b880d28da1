/**
 * Prepares the requirements of the tests: the packages of the lock file, development ones included, and the Debian packages that
 * some tests call. With `--all` also those of `bun run compatibility`. Runs before anything is installed, so it imports only
 * Node's own modules.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A test whose command is missing reports that and fails; nothing is skipped silently. */
const DEBIAN_PACKAGES = [
  { command: 'openssl', name: 'openssl' },
  { command: 'bwrap', name: 'bubblewrap' },
  { command: 'strace', name: 'strace' },
  { command: '/usr/bin/python3', name: 'python3-minimal' },
  { command: '/usr/bin/chromium', name: 'chromium' },
  // Without it Chinese texts would be boxes in browser tests.
  { command: '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc', name: 'fonts-noto-cjk' },
]

const root = join(import.meta.dirname, '../..')

/** Clients and servers of other makers: packages of their own, so that nothing else loads or installs them. */
const foreign = join(root, 'test/compatibility/foreign')

function run(command: string, args: readonly string[], cwd = root): boolean {
  const result = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  return result.status === 0
}

function onPath(command: string): boolean {
  if (command.startsWith('/')) return existsSync(command)
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.some(folder => folder !== '' && existsSync(join(folder, command)))
}

const install = ['install', '--frozen-lockfile', '--silent']
// The development packages there weigh 900 MB, and the suite does without.
const foreignInstall = process.argv.includes('--all') ? install : [...install, '--production']

if (!run(process.execPath, install) || !run(process.execPath, foreignInstall, foreign)) {
  console.error(
    'Cannot install the packages of bun.lock: see the message above. `bun install` needs the npm registry once.',
  )
  process.exit(1)
}

if (!run(process.execPath, ['ui/build.ts', '--if-stale'])) process.exit(1)

const missing = DEBIAN_PACKAGES.filter(entry => !onPath(entry.command))
if (missing.length > 0) {
  const names = missing.map(entry => entry.name)
  const mayInstall = process.getuid?.() === 0 && onPath('apt-get')
  const installed =
    mayInstall &&
    (run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...names]) ||
      (run('apt-get', ['update', '-q']) &&
        run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...names])))
  if (!installed)
    console.error(
      `Not installed: ${names.join(', ')}. The tests that need them will fail: apt-get install ${names.join(' ')}`,
    )
}
