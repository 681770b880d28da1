/** Chinese texts of sign-ins at servers, by their English. */
export const connections: Readonly<Record<string, string>> = {
  'Sign-ins at servers': '在服务器的登录',
  'Sign in at a server': '在服务器登录',
  'Sign in at “{name}”': '在“{name}”登录',
  'A server of {owner}.': '{owner} 的服务器。',
  'You are signed in there. Sign in again to give it a wider permission, or to be somebody else there.':
    '您已在该服务器登录。如需授予更大的权限或换用其他身份，请重新登录。',
  'Your calls then carry your own sign-in, which nobody else uses.':
    '此后您的调用会带上您自己的登录，其他人不会使用它。',
  'The sign-in is used at {host}, whoever asks you for it. Sign in only if you trust that host.':
    '无论由谁要求，此登录都会用于 {host}。仅在您信任该主机时登录。',
  'a server that is not shared with you any more': '您已无法看到的服务器',
  'To the server': '前往服务器',
  'Sign in again': '重新登录',
  'Enter the code for “{name}”': '输入“{name}”的代码',
  'Open {page} on any device, and enter this code there:': '在任意设备上打开 {page}，并在那里输入此代码：',
  'Copy the code': '复制代码',
  'Waiting for the issuer. The code is valid until {time}.': '正在等待签发方。代码在 {time} 之前有效。',
  'The issuer {issuer} sends you to {host}. Enter the code only if you want to give {issuer} your account there.':
    '签发方 {issuer} 让您前往 {host}。仅当您愿意把您在那里的账号交给 {issuer} 时才输入代码。',
  'Another code': '换一个代码',
  'Open {host}': '打开 {host}',
  'Who signs in?': '由谁登录？',
  'Each user, with their own account there': '每个用户各自登录，使用自己在那里的账号',
  'I do, and all users of the server act there with my account': '由我登录，服务器的所有用户都使用我在那里的账号',
  'You cannot sign in here': '您无法在此登录',
  'You are signed in': '您已登录',
  '“{name}” has your sign-in. You can close this window and go on in your app.':
    '“{name}”已取得您的登录。您可以关闭此窗口，回到您的应用继续。',
  'You are not signed in': '未能登录',
  'Nothing to finish': '没有要完成的登录',
  'This page ends a sign-in at a server, and was opened without one.':
    '此页面用于完成在服务器的登录，但打开时没有正在进行的登录。',
  'Signing you in': '正在登录',
  'Begin again': '重新开始',
  'Servers that want to know who calls. Each sign-in is yours alone, and the hub renews it by itself.':
    '这些服务器需要知道调用者是谁。每项登录只属于您自己，并由 Hub 自动续期。',
  'for everybody': '供所有人使用',
  'Your values for “{name}”': '您在“{name}”的值',
  'You have entered your values. Enter them again to change them.': '您已填写您的值。如需更改，请重新填写。',
  'Your own process of the program gets them, and nobody else sees them.':
    '这些值只交给您自己的程序进程，其他人看不到。',
  'They are sent to {host} with your calls, and nobody else sees them. Enter them only if you trust that host.':
    '这些值随您的调用发送到 {host}，其他人看不到。请仅在您信任该主机时填写。',
  'Save the values': '保存',
  'your own values': '您自己的值',
  'Signed in at': '签发方',
  Permissions: '权限范围',
  'Sign in again at {name}': '在 {name} 重新登录',
  'Sign out at {name}': '退出 {name}',
  'The browser did not come back here': '浏览器没有返回到这里',
  'Address at which the browser ended': '浏览器最后停留的地址',
  'Copy the whole address of the page that could not be opened.': '请复制无法打开的那个页面的完整地址。',
  'Finish the sign-in': '完成登录',
  'You are signed in at {name}': '您已在 {name} 登录',
  'Your calls of this server are refused until you sign in again. The issuer is told, if it takes that.':
    '在您重新登录之前，您对该服务器的调用会被拒绝。如果签发方支持，会通知它。',
  'Remove your values for {name}': '删除您在 {name} 的值',
  'Remove the values': '删除这些值',
  'Remove your values for {name}?': '删除您在 {name} 的值？',
  'The hub forgets them. Calls of this server are refused until you enter values again.':
    'Hub 会忘记这些值。在您重新输入之前，对该服务器的调用会被拒绝。',
  'Your values for {name} are removed': '您在 {name} 的值已删除',
  'Sign out at {name}?': '退出 {name}？',
  'You are signed out at {name}': '您已退出 {name}',
  'signed in': '已登录',
  'the hub is refused as a client': 'Hub 作为客户端被拒绝',
  'has ended': '已结束',
  '“{name}” wants you to sign in.': '“{name}”要求您登录。',
  'No sign-ins': '没有登录',
  'A server that wants OAuth shows “Sign in” on its page. Your sign-ins are listed here.':
    '需要 OAuth 的服务器会在其页面显示“登录”。您的登录会列在这里。',
}
