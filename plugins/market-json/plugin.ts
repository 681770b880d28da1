import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { ERRORS, words } from './errors.ts'
import { newestVersion } from './newest-version.ts'
import { catalogueSource } from './source.ts'

const HOUR_MS = 3_600_000
const address = z.url({ protocol: /^https?$/ }).max(2_048)

const config = z.strictObject({
  catalogues: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
      z.strictObject({
        url: address.meta({
          title: 'Address',
          description: 'Of the JSON file.',
          'x-zh': { title: '地址', description: 'JSON 文件的地址。' },
        }),
        sha256: z
          .string()
          .regex(/^[0-9a-fA-F]{64}$/)
          .optional()
          .meta({
            title: 'SHA-256',
            description: 'Of the file, in hexadecimal; a file that has another one is not taken.',
            'x-zh': { title: 'SHA-256 校验值', description: '文件的十六进制校验值；不符的文件不会被采用。' },
          }),
        refreshHours: z
          .number()
          .min(1)
          .max(8_760)
          .default(24)
          .meta({
            title: 'Refresh, hours',
            description: 'How old a list may get before it is read again.',
            'x-zh': { title: '刷新间隔（小时）', description: '列表超过此时间后重新读取。' },
          }),
      }),
    )
    .default({})
    .refine(all => Object.keys(all).length <= 10, 'at most 10 catalogues')
    .meta({
      title: 'Catalogues',
      description: 'JSON files of templates, by the name of their source.',
      'x-zh': { title: '目录', description: '模板的 JSON 文件，以来源名称为键。' },
    }),
  npm: address.default('https://registry.npmjs.org').meta({
    title: 'npm registry',
    description: 'Where the newest version of an npm package is asked for that an entry names without one.',
    'x-zh': { title: 'npm 注册表', description: '条目未写明版本时，在此查询 npm 软件包的最新版本。' },
  }),
  pypi: address.default('https://pypi.org').meta({
    title: 'PyPI',
    description: 'The same for Python packages.',
    'x-zh': { title: 'PyPI', description: '同上，用于 Python 软件包。' },
  }),
})

/** Templates from JSON catalogues. Without a configured one it sends nothing. */
export default definePlugin<z.infer<typeof config>>({
  name: 'market-json',
  contract: 1,
  errors: ERRORS,
  words,
  config,
  setup({ config: { catalogues, npm, pypi }, fetch, contribute }) {
    for (const [id, { refreshHours, ...more }] of Object.entries(catalogues)) {
      const catalogue = { ...more, refreshMs: refreshHours * HOUR_MS }
      const pin = (variant: Parameters<typeof newestVersion>[0], signal: AbortSignal) =>
        newestVersion(variant, { npm, pypi }, fetch, signal)
      contribute('marketSource', id, catalogueSource(catalogue, fetch, pin))
    }
    return undefined
  },
})
