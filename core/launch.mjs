#!/usr/bin/env node
/**
 * Starts the hub for `npx patchbay`: Node finds the Bun that was installed as a package beside this one, and that Bun runs the
 * hub. Its own install script, which package managers may refuse to run, is not needed. PATCHBAY_BUN names another Bun.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const CPU = { x64: 'x64', arm64: 'aarch64' }[process.arch] ?? process.arch
/** A terminal sends the first two to the hub as well, as one of its foreground group; a second one would end it at once. */
const OF_TERMINALS = ['SIGINT', 'SIGQUIT']
const FORWARDED = [...OF_TERMINALS, 'SIGTERM', 'SIGHUP']

/** The Bun of a package that is installed and starts here: a musl machine may have been given the one for glibc too. */
function installedBun() {
  for (const ending of ['', '-musl']) {
    try {
      const path = require.resolve(`@oven/bun-${process.platform}-${CPU}${ending}/bin/bun`)
      if (spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0) return path
    } catch {
      // Not installed: the next one.
    }
  }
  return undefined
}

const bun = process.env.PATCHBAY_BUN || installedBun()
if (!bun) {
  process.stderr.write(
    `error: bun_missing: Cannot start the hub: there is no Bun for ${process.platform} on ${process.arch} beside this package\n` +
      'Install with optional dependencies (npm install --include=optional), or name a Bun 1.4.5 in PATCHBAY_BUN.\n',
  )
  process.exit(1)
}
const child = spawn(bun, [fileURLToPath(new URL('./main.ts', import.meta.url)), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
for (const signal of FORWARDED) {
  process.on(signal, () => {
    if (!process.stdin.isTTY || !OF_TERMINALS.includes(signal)) child.kill(signal)
  })
}
child.on('error', error => {
  process.stderr.write(`error: bun_missing: Cannot start ${bun}: ${error.message}\n`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)))
