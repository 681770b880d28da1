/** Chinese for what this plugin says to people. */
export const words: Readonly<Record<string, string>> = {
  'The server wants you to sign in': '服务器要求您登录',
  'Sign in at the page of the error.': '请在错误所给的页面登录。',
  'The server wants a wider permission': '服务器需要更大的权限',
  'Sign in at the page of the error and allow what it asks for.': '请在错误所给的页面登录并允许其请求的权限。',
  'The permission was given and does not suffice': '已授予权限，但仍然不够',
  'Ask whoever runs the server which permission its tool needs.': '请询问服务器的运营者该工具需要什么权限。',
  'The address of the server has changed since you signed in': '您登录之后服务器地址已更改',
  'Sign in again: what you have is for the former address.': '请重新登录：现有的登录只适用于原地址。',
  'The server has another issuer since you signed in': '您登录之后服务器更换了签发方',
  'Sign in again: what you have is of the former issuer, and stays there.':
    '请重新登录：现有的登录属于原签发方，不会用于新的签发方。',
  'The sign-in is not known any more': '此登录已失效',
  'Begin the sign-in again: it is valid for ten minutes and can be used once.':
    '请重新开始登录：登录的有效期为十分钟，且只能使用一次。',
  'The code was not entered in time': '未及时输入代码',
  'Begin again, and enter the code at the issuer before it ends.': '请重新开始，并在代码失效前到签发方输入。',
  'Somebody else began this sign-in': '此项登录是由其他人开始的',
  'Begin a sign-in of your own, at the page of the server.': '请在服务器页面开始您自己的登录。',
  'The sign-in was not granted': '登录未被授权',
  'Begin again, and allow what is asked for.': '请重新开始，并允许所请求的权限。',
  'The issuer is not the one that was asked': '签发方不是所请求的那一个',
  'Ask whoever runs the issuer; nothing was sent to it.': '请询问签发方的运营者；没有向其发送任何内容。',
  'The server describes another resource': '服务器描述的是另一个资源',
  'Check the address of the server, and ask whoever runs it.': '请检查服务器地址，并询问其运营者。',
  'The issuer does not say that it supports PKCE with S256': '签发方未声明支持 S256 的 PKCE',
  'Ask whoever runs the issuer; nothing is sent to it without PKCE.':
    '请询问签发方的运营者；没有 PKCE 就不发送任何内容。',
  'No usable issuer for the server': '该服务器没有可用的签发方',
  'Set "issuer" in "oauth" of the server, or give it a token in "headers".':
    '请在服务器的 "oauth" 中设置 "issuer"，或在 "headers" 中填写令牌。',
  'The issuer could not be reached': '无法连接签发方',
  'Try again later; the hub does so too.': '请稍后再试；hub 也会自动重试。',
  'The issuer wants a client that a person registered': '签发方要求由人工注册的客户端',
  'Register an app at the issuer with the redirect URI, and set "oauth.clientId" and "oauth.clientSecret".':
    '请在签发方用该重定向 URI 注册应用，并设置 "oauth.clientId" 和 "oauth.clientSecret"。',
  'The client was refused': '客户端被拒绝',
  'Check the id and secret of the client; let it register again, or ask an administrator to list it.':
    '请检查客户端的 ID 和密钥；让它重新注册，或请管理员将其列入。',
  'The issuer gave a token over 16 KiB': '签发方给出的令牌超过 16 KiB',
  'Ask for fewer permissions: they are often in the token.': '请减少所请求的权限：它们常包含在令牌中。',
  'No such connection': '没有这个连接',
  'GET /api/connections lists yours.': 'GET /api/connections 列出您的连接。',
}
