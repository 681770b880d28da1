/** Browsers by their mark in a User-Agent; those whose text also contains the marks of others are first. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|CriOS)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[^ ]* (?:Mobile\/\S+ )?Safari/, 'Safari'],
]
const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

/** Common name of a User-Agent's program: "Firefox 140 · Linux", or its first word; undefined without one. */
export function programOf(userAgent: string | null): string | undefined {
  if (!userAgent) return undefined
  const browser = BROWSERS.find(([mark]) => mark.test(userAgent))
  if (!browser) return userAgent.split(' ')[0]
  const version = browser[0].exec(userAgent)?.[1]
  const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1]
  return [`${browser[1]} ${version}`, ...(system ? [system] : [])].join(' · ')
}
