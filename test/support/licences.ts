/** Checks the licences of the packages that the hub runs with. */
import { type LockedPackage, lockedTree } from './lock-file.ts'

/** Permissive ones only: a person who distributes the hub only has to include the notices. */
const PERMITTED = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'ISC', 'MIT', 'MIT-0'],
  ...['PSF-2.0', 'Python-2.0', 'Unlicense', 'Zlib'],
])

/** Packages with a licence that is not on the list, without a permitted alternative. */
export function refusedLicences(packages: readonly LockedPackage[]): string[] {
  return packages
    .filter(({ licence }) => licence === undefined || !permitted(licence))
    .map(({ name, version, licence }) => `${name}@${version}: ${licence ?? 'not installed here'}`)
}

function permitted(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/s, '$1')
  // A person has to check an expression that mixes both kinds.
  if (/[()]/.test(plain) || (/ AND /.test(plain) && / OR /.test(plain))) return false
  if (/ OR /.test(plain)) return plain.split(' OR ').some(licence => PERMITTED.has(licence))
  return plain.split(' AND ').every(licence => PERMITTED.has(licence))
}

/** docs/reference/licences.md. */
export function licencesPage(): string {
  const rows = lockedTree({ dev: false }).packages.map(
    ({ key, name, version, licence }) =>
      `| ${key === name ? name : `${name} (of ${key.slice(0, -name.length - 1)})`} | ${version} | ${licence ?? ''} |`,
  )
  return `# Licences

The hub itself is Apache-2.0. These are the packages that it runs with, as \`bun.lock\` has them, and what each says of its
licence; the texts are in the packages. \`bun run sbom\` prints the same with hashes as a CycloneDX document, \`bun run sbom
--dev\` with everything that the tests use. A package under a licence that is not permissive fails the tests.

Bun itself, which the one program contains and the npm package brings along (\`@oven/bun-…\`), is under MIT; it links
JavaScriptCore, which is under LGPL-2. Whoever passes the program on passes that on as well.

| package | version | licence |
|---|---|---|
${rows.join('\n')}
`
}
