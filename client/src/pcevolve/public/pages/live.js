setTimeout(() => location.reload(), 1500);
