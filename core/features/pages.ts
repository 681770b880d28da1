declare module '../contract/points.ts' {
  interface ExtensionPoints {
    page: PageContribution
    builtPage: BuiltPage
  }
}

/** A text for people; in place of a language that is missing stands English. */
export type LocalText = string | { readonly en: string; readonly zh?: string }

/** A page that is built with the console, which has it while the plugin runs; its id is the page's. Of bundled plugins alone. */
export type BuiltPage = Pick<PageContribution, 'access'>

/** A page in the console. Its link is in the rail, its address is `/x/{plugin}/{path}`. */
export interface PageContribution {
  /** Lower-case letters, digits and dashes, at most 64; unique in the plugin. */
  readonly path: string
  /** At most 64 characters. */
  readonly title: LocalText
  /** Name of a lucide icon. The console has about sixty of them for plugins and shows `puzzle` for any other one. */
  readonly icon: string
  /**
   * Absolute path or file: URL of an ES module for browsers, at most 2 MiB, in the plugin's folder: that of its entry file,
   * or one below. The module is read when it is contributed. It is served alone, to anybody who knows its address: it must
   * import nothing but `patchbay/console`, and hold no secret.
   */
  readonly module: string
  /** Name of the custom element that the module defines, such as `my-plugin-orders`. */
  readonly element: string
  /** The users who see the page. The module itself protects nothing: the routes that it calls do. */
  readonly access: 'user' | 'admin'
}
