/** Relation of two versions of one template. */
export type VersionOrder = 'newer' | 'older' | 'same' | 'other'

/**
 * Compares `found` with `installed`: numbers between dots as numbers, a release after its pre-releases. `other`: the texts are
 * not versions of this form.
 */
export function compareVersions(installed: string, found: string): VersionOrder {
  if (installed === found) return 'same'
  const [one, two] = [parts(installed), parts(found)]
  if (!one || !two) return 'other'
  const at = Math.max(
    0,
    [...one.numbers, ...two.numbers].findIndex((_, index) => one.numbers[index] !== two.numbers[index]),
  )
  const difference = (two.numbers[at] ?? 0) - (one.numbers[at] ?? 0)
  if (difference !== 0) return difference > 0 ? 'newer' : 'older'
  return compareSuffixes(one, two)
}

function compareSuffixes(one: Parts, two: Parts): VersionOrder {
  if (one.suffix === two.suffix) return 'other'
  if (one.suffix === '' || two.suffix === '') return two.suffix === '' ? 'newer' : 'older'
  return two.suffix.localeCompare(one.suffix, 'en', { numeric: true }) > 0 ? 'newer' : 'older'
}

interface Parts {
  readonly numbers: readonly number[]
  readonly suffix: string
}

function parts(version: string): Parts | undefined {
  const match = /^v?(\d{1,9}(?:\.\d{1,9}){0,5})(?:[-.]?([0-9A-Za-z.-]*))?(?:\+.*)?$/.exec(version)
  if (!match) return undefined
  return { numbers: (match[1] ?? '').split('.').map(Number), suffix: match[2] ?? '' }
}
