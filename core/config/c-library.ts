/** Names by which the C library can be opened here, most common first: glibc, musl, macOS. */
export function cLibraries(): readonly string[] {
  if (process.platform === 'darwin') return ['libSystem.B.dylib']
  const musl = process.arch === 'arm64' ? 'libc.musl-aarch64.so.1' : 'libc.musl-x86_64.so.1'
  return ['libc.so.6', musl]
}
